{{- /* The fields of an endpoint that the values give. The argument is a dict with relabelings, metricRelabelings and endpointConfig. */}}
{{- define "karpenter.endpoint" -}}
path: /metrics
{{- with .relabelings }}
relabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .endpointConfig }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* The file of the alerts, which Prometheus also reads as it is. */}}
{{- define "karpenter.alerts" -}}
{{- .Files.Get "alerts/karpenter.yaml" }}
{{- end }}

{{- /* What is wrong with prometheusRule.disabledAlerts; empty if nothing is. */}}
{{- define "karpenter.unknownAlerts" -}}
{{- $known := list }}
{{- range (include "karpenter.alerts" . | fromYaml).groups }}
{{- range .rules }}{{ $known = append $known .alert }}{{ end }}
{{- end }}
{{- $unknown := list }}
{{- range .Values.prometheusRule.disabledAlerts }}
{{- if not (has . $known) }}{{ $unknown = append $unknown . }}{{ end }}
{{- end }}
{{- with $unknown -}}
prometheusRule.disabledAlerts names {{ join ", " . }}: the alerts of the chart are {{ join ", " $known }}
{{- end }}
{{- end }}
