/** The dashboard for Grafana: its rows of panels, and their JSON. It shows each metric of the service. */

interface Query {
  readonly expression: string;
  /** The name of a series, with labels in double braces. Absent if there is only one series. */
  readonly legend?: string;
}

interface Panel {
  readonly title: string;
  /** A hint for the reader of the panel. */
  readonly description: string;
  /** `stat`: one number now. `timeseries`: lines over time. */
  readonly kind: 'stat' | 'timeseries';
  /** One of Grafana's units: `reqps`, `s`, `bytes`, `percentunit` or `short`. */
  readonly unit: string;
  readonly queries: readonly Query[];
}

interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const lines = (title: string, unit: string, description: string, ...queries: readonly Query[]): Panel => {
  return { title, unit, description, kind: 'timeseries', queries };
};
const stat = (title: string, unit: string, description: string, query: Query): Panel => {
  return { title, unit, description, kind: 'stat', queries: [query] };
};

export const rows: readonly Row[] = [
  {
    title: 'Now',
    panels: [
      stat('Replicas', 'short', 'Replicas that Prometheus can scrape.', { expression: 'sum(up{job="mandate"})' }),
      stat('Database', 'short', '1 if every replica reaches the database.', {
        expression: 'min(mandate_database_up)',
      }),
      stat('Releases', 'short', 'Replicas of each release. More than one release: a roll-out is under way.', {
        expression: 'count by (version) (mandate_build_info)',
        legend: '{{version}}',
      }),
      stat('Signing keys', 'short', 'Replicas that sign with each key. More than one: a rotation is under way.', {
        expression: 'count by (kid) (mandate_signing_key_info{state="active"})',
        legend: '{{kid}}',
      }),
    ],
  },
  {
    title: 'Requests',
    panels: [
      lines('Requests by surface', 'reqps', 'Answered requests, without health checks.', {
        expression: 'sum by (surface) (rate(mandate_requests_total{surface!="health"}[$__rate_interval]))',
        legend: '{{surface}}',
      }),
      lines('Requests by outcome', 'reqps', 'Look for unavailable, overloaded and failed.', {
        expression: 'sum by (outcome) (rate(mandate_requests_total{surface!="health"}[$__rate_interval]))',
        legend: '{{outcome}}',
      }),
      lines(
        'Duration of token requests',
        's',
        'From the head of a request to the end of its response, including the wait for a permit.',
        ...[0.5, 0.9, 0.99].map((quantile) => ({
          expression: `histogram_quantile(${quantile}, sum by (le) (rate(mandate_request_duration_seconds_bucket{surface="token"}[$__rate_interval])))`,
          legend: `${quantile * 100}%`,
        })),
      ),
      lines('Denials', 'reqps', 'By the reason of their record.', {
        expression: 'sum by (event, reason) (rate(mandate_denials_total[$__rate_interval]))',
        legend: '{{event}} {{reason}}',
      }),
      lines('Tokens that differ from their task', 'short', 'Any is a sign of a disclosed signing key.', {
        expression: 'sum by (surface) (increase(mandate_token_mismatches_total[$__rate_interval]))',
        legend: '{{surface}}',
      }),
    ],
  },
  {
    title: 'Admission',
    panels: [
      lines('Requests refused at admission', 'reqps', 'Rate limits, and requests above the capacity.', {
        expression: 'sum by (reason, kind) (rate(mandate_admission_refusals_total[$__rate_interval]))',
        legend: '{{reason}} {{kind}}',
      }),
      lines(
        'Permits',
        'short',
        'Requests that hold a permit, and requests that wait for one.',
        { expression: 'sum by (work) (mandate_admission_turns_busy)', legend: '{{work}} busy' },
        { expression: 'sum by (work) (mandate_admission_turns_waiting)', legend: '{{work}} waiting' },
      ),
    ],
  },
  {
    title: 'Database',
    panels: [
      lines('Connections', 'short', 'Connections to Postgres by pool. Used should stay below most.', {
        expression: 'sum by (pool, state) (mandate_database_connections)',
        legend: '{{pool}} {{state}}',
      }),
      lines('Decisions fail', 'short', 'Replicas in which no decision succeeds. `/readyz` names the cause.', {
        expression: 'sum(mandate_database_decisions_failing)',
      }),
      lines('Waiting for a connection', 'short', 'If it stays above zero, Postgres is slow or the pool too small.', {
        expression: 'sum by (pool) (mandate_database_waiting)',
        legend: '{{pool}}',
      }),
    ],
  },
  {
    title: 'Ledger and sink',
    panels: [
      lines(
        'Sealing',
        's',
        'The oldest unsealed record should be younger than three intervals.',
        { expression: 'max(mandate_ledger_oldest_unsealed_age_seconds)', legend: 'oldest unsealed record' },
        { expression: 'max(mandate_ledger_last_checkpoint_age_seconds)', legend: 'last checkpoint' },
      ),
      lines('Unsealed records', 'short', 'It falls to zero with each checkpoint.', {
        expression: 'max(mandate_ledger_unsealed_records)',
      }),
      lines('Outbox', 'short', 'Records that wait for the sink, and those that it has refused.', {
        expression: 'max by (state) (mandate_outbox_records)',
        legend: '{{state}}',
      }),
      lines('Oldest record in the outbox', 's', 'How far the copy in the sink is behind.', {
        expression: 'max(mandate_outbox_oldest_age_seconds)',
      }),
    ],
  },
  {
    title: 'Status lists (empty without Service:StatusLists:Enabled)',
    panels: [
      lines(
        'Indices',
        'short',
        'Indices that tasks hold, and free ones. A full audience opens another list.',
        { expression: 'max by (state) (mandate_status_list_indices)', legend: '{{state}}' },
        { expression: 'max(mandate_status_lists)', legend: 'lists' },
      ),
      lines('Lists made', 'reqps', 'At most one for each list, replica and Ttl. Look for failed.', {
        expression: 'sum by (outcome) (rate(mandate_status_list_builds_total[$__rate_interval]))',
        legend: '{{outcome}}',
      }),
      lines('Time to read a list, 99%', 's', 'From the database.', {
        expression:
          'histogram_quantile(0.99, sum by (le) (rate(mandate_status_list_build_duration_seconds_bucket[$__rate_interval])))',
      }),
      lines('Age of the newest list', 's', 'By replica. It should stay near Ttl while tool servers poll.', {
        expression: 'max by (instance) (mandate_status_list_newest_age_seconds)',
        legend: '{{instance}}',
      }),
    ],
  },
  {
    title: 'Identity provider',
    panels: [
      lines(
        'Queries about people fail',
        'short',
        '1: the provider failed five times in a row. Exchanges are refused.',
        {
          expression: 'max by (instance) (mandate_sponsor_check_circuit_open)',
          legend: '{{instance}}',
        },
      ),
      lines('Age of the key sets', 's', 'Keys are fetched every five minutes.', {
        expression: 'max by (owner) (mandate_key_set_age_seconds)',
        legend: '{{owner}}',
      }),
    ],
  },
  {
    title: 'Processes',
    panels: [
      lines('Clock', 's', "How far a replica is ahead of the database's clock. Beyond 30 s it sweeps nothing.", {
        expression: 'max by (instance) (mandate_database_clock_difference_seconds)',
        legend: '{{instance}}',
      }),
      lines('CPU', 'percentunit', '100% is one core.', {
        expression: 'rate(process_cpu_seconds_total{job="mandate"}[$__rate_interval])',
        legend: '{{instance}}',
      }),
      lines('Resident memory', 'bytes', 'Half of it may be garbage.', {
        expression: 'process_resident_memory_bytes{job="mandate"}',
        legend: '{{instance}}',
      }),
      lines('Event loop lag, 99%', 's', 'Above 0.1 s the process lacks CPU.', {
        expression: 'nodejs_eventloop_lag_p99_seconds{job="mandate"}',
        legend: '{{instance}}',
      }),
      lines('Open file descriptors', 'percentunit', 'The share of the limit.', {
        expression: 'process_open_fds{job="mandate"} / process_max_fds{job="mandate"}',
        legend: '{{instance}}',
      }),
    ],
  },
];

/** Grafana's grid is 24 columns wide. */
const COLUMNS = 24;
const HEIGHTS = { stat: 4, timeseries: 8 } as const;
/** The dashboard's variable that selects a Prometheus server. */
const DATASOURCE = { type: 'prometheus', uid: '$' + '{datasource}' };

/** The dashboard in the form that Grafana imports. */
export function dashboard(): Readonly<Record<string, unknown>> {
  return {
    title: 'Mandate',
    uid: 'mandate',
    description: 'Generated from scripts/observability/dashboard.ts.',
    // The version of the format. Newer releases of Grafana convert it.
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [{ name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus', refresh: 1 }],
    },
    panels: panels(),
  };
}

function panels(): readonly Readonly<Record<string, unknown>>[] {
  const placed: Readonly<Record<string, unknown>>[] = [];
  let y = 0;
  const place = (panel: object, at: { readonly x: number; readonly w: number; readonly h: number }) => {
    placed.push({ id: placed.length + 1, ...panel, gridPos: { ...at, y } });
  };
  for (const row of rows) {
    place({ type: 'row', title: row.title, collapsed: false, panels: [] }, { x: 0, w: COLUMNS, h: 1 });
    y += 1;
    const w = COLUMNS / row.panels.length;
    const h = Math.max(...row.panels.map(({ kind }) => HEIGHTS[kind]));
    for (const [index, panel] of row.panels.entries()) place(panelJson(panel), { x: index * w, w, h });
    y += h;
  }
  return placed;
}

function panelJson({ kind, title, description, unit, queries }: Panel): Readonly<Record<string, unknown>> {
  return {
    type: kind,
    title,
    description,
    datasource: DATASOURCE,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: kind === 'stat' ? { colorMode: 'none', textMode: 'value_and_name' } : { tooltip: { mode: 'multi' } },
    targets: queries.map(({ expression, legend }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource: DATASOURCE,
      expr: expression,
      legendFormat: legend ?? title,
      // A single number needs only the newest value.
      instant: kind === 'stat',
      range: kind !== 'stat',
    })),
  };
}
