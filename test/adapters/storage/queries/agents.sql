-- findAgent
-- postgres
select agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, enabled, revision, created_at, updated_at, keys_since from agents where agent_id = $1;
-- sqlite
select agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, enabled, revision, created_at, updated_at, keys_since from agents where agent_id = ?;

-- listAgents: all agents
-- postgres
select agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, enabled, revision, created_at, updated_at, keys_since from agents
  order by agent_id;
-- sqlite
select agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, enabled, revision, created_at, updated_at, keys_since from agents
  order by agent_id;

-- listAgents: a page
-- postgres
select agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, enabled, revision, created_at, updated_at, keys_since from agents
  where agent_id > $1
  order by agent_id limit $2;
-- sqlite
select agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, enabled, revision, created_at, updated_at, keys_since from agents
  where agent_id > ?
  order by agent_id limit ?;
