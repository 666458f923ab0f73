{{- define "tollgate.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* The gRPC port of each service, and the services that it calls. */}}
{{- define "tollgate.services" -}}
auth: { port: 7101, calls: [], internet: true }
catalog: { port: 7102, calls: [auth], internet: false }
ledger: { port: 7103, calls: [auth], internet: true }
metering: { port: 7104, calls: [auth, catalog, ledger], internet: false }
inference: { port: 7105, calls: [auth], internet: true }
{{- end }}

{{/* Takes (dict "root" $ "name" "ledger"). */}}
{{- define "tollgate.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- define "tollgate.labels" -}}
{{ include "tollgate.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "tollgate.image" -}}
{{- $image := .root.Values.image -}}
{{- if .imageTag }}{{ $image.repository }}:{{ .imageTag }}
{{- else if $image.digest }}{{ $image.repository }}@{{ $image.digest }}
{{- else }}{{ $image.repository }}:{{ $image.tag | default .root.Chart.AppVersion }}{{ end }}
{{- end }}

{{/* What every pod has. Service links would be variables that begin with TOLLGATE_, which the processes reject as unknown settings. */}}
{{- define "tollgate.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .values.nodeSelector }}
nodeSelector:
{{ toYaml . | indent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
{{ toYaml . | indent 2 }}
{{- end }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
{{ toYaml . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "tollgate.container" -}}
image: {{ include "tollgate.image" . | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{- define "tollgate.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
{{ include "tollgate.selector" . | indent 8 }}
{{- end }}

{{/* The address of each service that a process calls: a headless Service lists all replicas. */}}
{{- define "tollgate.addresses" -}}
{{- $root := .root }}
{{- $services := include "tollgate.services" . | fromYaml }}
{{- range .calls }}
- name: TOLLGATE_{{ upper . }}_ADDRESS
  value: dns:///{{ include "tollgate.fullname" $root }}-{{ . }}.{{ $root.Release.Namespace }}.svc:{{ (get $services .).port }}
{{- end }}
{{- end }}

{{- define "tollgate.tlsEnv" -}}
- name: TOLLGATE_TLS_CA
  value: /etc/tollgate/tls/ca.crt
- name: TOLLGATE_TLS_CERT
  value: /etc/tollgate/tls/tls.crt
- name: TOLLGATE_TLS_KEY
  value: /etc/tollgate/tls/tls.key
{{- end }}

{{/* The variables of a process from its values: .name, .values. */}}
{{- define "tollgate.commonEnv" -}}
{{ include "tollgate.tlsEnv" . }}
- name: TOLLGATE_DRAIN_TIMEOUT
  value: {{ printf "%ds" (int .root.Values.drainSeconds) }}
- name: TOLLGATE_LAME_DUCK
  value: {{ printf "%ds" (int .root.Values.lameDuckSeconds) }}
- name: TOLLGATE_{{ upper .name }}_METRICS_LISTEN
  value: 0.0.0.0:9464
{{- with .root.Values.otlp.endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ . | quote }}
{{- end }}
{{- range $key, $value := merge (dict) .values.config .root.Values.config }}
- name: {{ $key }}
  value: {{ $value | quote }}
{{- end }}
{{- range $key, $source := .values.secretEnv }}
- name: {{ $key }}
  valueFrom:
    secretKeyRef:
      name: {{ $source.secretName }}
      key: {{ $source.key }}
{{- end }}
{{- end }}

{{- define "tollgate.tlsVolume" -}}
- name: tls
  secret:
    secretName: {{ include "tollgate.fullname" .root }}-{{ .name }}-tls
    # 0440
    defaultMode: 288
{{- end }}

{{- define "tollgate.databaseEnv" -}}
- name: TOLLGATE_{{ upper .name }}_DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ .secretName }}
      key: {{ .name }}
{{- end }}

{{/* Longer than a process takes: it goes on serving, drains, then stops within 10 s. */}}
{{- define "tollgate.graceSeconds" -}}
{{ add .Values.lameDuckSeconds .Values.drainSeconds 15 }}
{{- end }}
