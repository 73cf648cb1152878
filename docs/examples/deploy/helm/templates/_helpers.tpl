{{- define "mandate.selector" -}}
app.kubernetes.io/name: mandate
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "mandate.labels" -}}
{{ include "mandate.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "mandate.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Both pods meet the restricted security standard, and have no token of the cluster. */ -}}
{{- define "mandate.pod" -}}
automountServiceAccountToken: false
# Variables of other services could be taken for settings.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{- define "mandate.container" -}}
image: {{ include "mandate.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{- /* The variables that both pods have, as members of a mapping. */ -}}
{{- define "mandate.environment" -}}
Service__Secrets__Path: /run/secrets/mandate
{{- if .Values.caCertificates.configMap }}
NODE_EXTRA_CA_CERTS: {{ printf "/run/ca-certificates/%s" .Values.caCertificates.key | quote }}
{{- end }}
{{- range $name, $value := .Values.environment }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{- /* The variables of a mapping. Kubernetes would replace $(NAME) in a value by another variable. */ -}}
{{- define "mandate.variables" -}}
{{- range $name, $value := fromYaml . }}
- name: {{ $name }}
  value: {{ $value | replace "$(" "$$(" | quote }}
{{- end }}
{{- end }}

{{- define "mandate.mounts" -}}
- name: secrets
  mountPath: /run/secrets/mandate
  readOnly: true
{{- if .Values.caCertificates.configMap }}
- name: ca-certificates
  mountPath: /run/ca-certificates
  readOnly: true
{{- end }}
{{- end }}

{{- define "mandate.database-egress" -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
- ports:
    - port: {{ .Values.networkPolicy.postgres.port }}
  {{- with .Values.networkPolicy.postgres.peers }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{- /* The variables of a replica. */ -}}
{{- define "mandate.settings" -}}
{{ include "mandate.environment" . }}
{{- /* All addresses of the pod. Where the node has no IPv6, the service listens on 0.0.0.0. */}}
HOST: '::'
{{- range $name, $value := .Values.settings }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- range $number, $key := .Values.signing.keys }}
Service__Signing__Keys__{{ $number }}__Path: /run/secrets/signing-keys/{{ $key.file }}
{{- with $key.kid }}
Service__Signing__Keys__{{ $number }}__Kid: {{ . | quote }}
{{- end }}
{{- end }}
{{- with .Values.signing.activeKid }}
Service__Signing__ActiveKid: {{ . | quote }}
{{- end }}
{{- end }}

{{- /* Rules that the schema cannot state, or not in a sentence. */ -}}
{{- define "mandate.check" -}}
{{- if not (regexMatch "^[a-z][-a-z0-9]*$" .Release.Name) }}
{{- fail (printf "the name of the release, %s, names a Service too: it must begin with a letter and have no dot" .Release.Name) }}
{{- end }}
{{- with .Values.settings }}
{{- with .Service__Metrics__Port }}
{{- if or (not (regexMatch "^[1-9][0-9]{0,4}$" .)) (eq . "5100") }}
{{- fail "settings.Service__Metrics__Port must be a port other than 5100" }}
{{- end }}
{{- end }}
{{- with .Service__Console__Port }}
{{- if or (not (regexMatch "^[1-9][0-9]{0,4}$" .)) (has . (list "80" "5100" $.Values.settings.Service__Metrics__Port)) }}
{{- fail "settings.Service__Console__Port must be a port other than 80, 5100 and settings.Service__Metrics__Port" }}
{{- end }}
{{- end }}
{{- if and .Service__UpstreamIdp__Issuer .Service__UpstreamIdp__MetadataUrl }}
{{- fail "settings.Service__UpstreamIdp__Issuer and settings.Service__UpstreamIdp__MetadataUrl exclude each other" }}
{{- else if not (or .Service__UpstreamIdp__Issuer .Service__UpstreamIdp__MetadataUrl) }}
{{- fail "settings.Service__UpstreamIdp__Issuer or settings.Service__UpstreamIdp__MetadataUrl is required" }}
{{- end }}
{{- end }}
{{- if and (gt (len .Values.signing.keys) 1) (not .Values.signing.activeKid) }}
{{- fail "signing.activeKid is required with more than one entry in signing.keys: the name of the key that signs" }}
{{- end }}
{{- if and .Values.serviceMonitor.enabled (not .Values.settings.Service__Metrics__Port) }}
{{- fail "settings.Service__Metrics__Port is required if serviceMonitor.enabled is true" }}
{{- end }}
{{- range $name, $value := .Values.environment }}
{{- if hasPrefix "Service__" $name }}
{{- fail (printf "environment.%s is a setting: move it to settings, or to the Secret if it is secret" $name) }}
{{- else if has $name (list "HOST" "PORT" "NODE_ENV" "NODE_EXTRA_CA_CERTS") }}
{{- fail (printf "environment.%s must not be set: the chart or its image sets it (for authorities see caCertificates)" $name) }}
{{- else if regexMatch "(://|^[^/ ]+:)[^/ ]*@" $value }}
{{- fail (printf "environment.%s contains a password, which no variable may" $name) }}
{{- end }}
{{- end }}
{{- end }}
