{{- /*
The fields of an endpoint that the values give. The arguments are a dict with relabelings, metricRelabelings and endpointConfig, and a dict with fields that
endpointConfig may replace.
*/}}
{{- define "karpenter.endpoint" -}}
{{- $fields := merge (dict) (default dict (index . 0).endpointConfig) (index . 1) }}
{{- with index . 0 -}}
path: /metrics
{{- with .relabelings }}
relabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with $fields }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /*
How Prometheus scrapes secured metrics, as JSON: over TLS whose certificate no authority has signed. A ServiceMonitor uses the token of Prometheus, unless
the values have another; a PodMonitor has no field for that.
*/}}
{{- define "karpenter.secured" -}}
{{- $fields := dict }}
{{- if (index . 0).Values.settings.secureMetrics }}
{{- $config := default dict (index . 1).endpointConfig }}
{{- $fields = omit (dict "scheme" "https" "tlsConfig" (dict "insecureSkipVerify" true)) (ternary "tlsConfig" "" (hasKey $config "tlsConfig")) }}
{{- if and (index . 2) (not (or (hasKey $config "authorization") (hasKey $config "bearerTokenSecret"))) }}
{{- $_ := set $fields "bearerTokenFile" "/var/run/secrets/kubernetes.io/serviceaccount/token" }}
{{- end }}
{{- end }}
{{- toJson $fields }}
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
