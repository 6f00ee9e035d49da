{{- define "recourse.name" -}}
{{- if contains "recourse" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-recourse" .Release.Name | trunc 52 | trimSuffix "-" }}{{ end -}}
{{- end -}}

{{- define "recourse.selector" -}}
app.kubernetes.io/name: recourse
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "recourse.metadata" -}}
name: {{ include "recourse.name" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "recourse.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "recourse.variable" -}}
- name: {{ .name }}
  valueFrom: {secretKeyRef: {name: {{ .secret | quote }}, key: {{ .key | quote }}}}
{{- end -}}

{{- /* The configuration: what the chart sets, and the values. */ -}}
{{- define "recourse.config" -}}
{{- $name := include "recourse.name" . -}}
{{- $at := printf "%s.%s" $name .Release.Namespace -}}
{{- $own := dict "listen" "0.0.0.0:8787" "admin" "0.0.0.0:9464" "admin_remote" true "session_keys" (list "${RECOURSE_SESSION_KEY}") -}}
{{- $_ := set $own "shutdown_delay" (printf "%ds" (int .Values.shutdownDelay)) -}}
{{- $_ := set $own "hosts" (concat (list $name $at (printf "%s.svc" $at) (printf "%s.svc.cluster.local" $at)) .Values.hosts) -}}
{{- if .Values.store.secret }}{{ $_ := set $own "store" "${RECOURSE_STORE}" }}{{ end -}}
{{- if .Values.redis.secret }}{{ $_ := set $own "redis" "${RECOURSE_REDIS}" }}{{ end -}}
{{- toYaml (merge $own .Values.config) -}}
{{- end -}}
