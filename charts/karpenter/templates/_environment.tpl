{{- /* Settings that are passed as environment variables. Names are those of docs/reference/settings.md. */}}
{{- define "karpenter.environment" -}}
{{- $s := .Values.settings -}}
- name: KUBERNETES_MIN_VERSION
  value: "1.19.0-0"
- name: KARPENTER_SERVICE
  value: {{ include "karpenter.fullname" . | quote }}
- name: SYSTEM_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: CPU_REQUESTS
  valueFrom:
    resourceFieldRef:
      containerName: {{ .Values.controller.containerName | quote }}
      divisor: 1m
      resource: requests.cpu
- name: MEMORY_LIMIT
  valueFrom:
    resourceFieldRef:
      containerName: {{ .Values.controller.containerName | quote }}
      divisor: "0"
      resource: limits.memory
{{- include "karpenter.variable" (list "METRICS_PORT" .Values.controller.metrics.port) }}
{{- include "karpenter.variable" (list "HEALTH_PROBE_PORT" .Values.controller.healthProbe.port) }}
{{- include "karpenter.text" (list "LOG_LEVEL" .Values.logLevel) }}
{{- include "karpenter.text" (list "LOG_OUTPUT_PATHS" (join "," .Values.logOutputPaths)) }}
{{- include "karpenter.text" (list "LOG_ERROR_OUTPUT_PATHS" (join "," .Values.logErrorOutputPaths)) }}
{{- include "karpenter.text" (list "BATCH_MAX_DURATION" $s.batchMaxDuration) }}
{{- include "karpenter.text" (list "BATCH_IDLE_DURATION" $s.batchIdleDuration) }}
{{- include "karpenter.text" (list "PREFERENCE_POLICY" $s.preferencePolicy) }}
{{- include "karpenter.text" (list "CONSOLIDATE_AFTER_SCOPE" $s.consolidateAfterScope) }}
{{- include "karpenter.text" (list "MIN_VALUES_POLICY" $s.minValuesPolicy) }}
{{- include "karpenter.text" (list "POD_GROUPS" $s.podGroups) }}
{{- include "karpenter.variable" (list "IGNORE_DRA_REQUESTS" (include "karpenter.ignoresDevices" .)) }}
{{- include "karpenter.text" (list "SCHEDULER_CONFIG" $s.schedulerConfig) }}
{{- include "karpenter.text" (list "LEDGER_MEMORY" $s.ledgerMemory) }}
{{- include "karpenter.text" (list "LEDGER_DIR" $s.ledgerDir) }}
{{- include "karpenter.text" (list "LEDGER_DISK" $s.ledgerDisk) }}
{{- include "karpenter.text" (list "CONSOLE_ADDR" $s.consoleAddr) }}
{{- if $s.secureMetrics }}
{{- include "karpenter.variable" (list "SECURE_METRICS" true) }}
{{- end }}
{{- if include "karpenter.notifies" . }}
{{- include "karpenter.text" (list "NOTIFICATION_URL_FILE" "/etc/karpenter/notifications/url") }}
{{- if ne $s.notifications.format "slack" }}
{{- include "karpenter.text" (list "NOTIFICATION_SECRET_FILE" "/etc/karpenter/notifications/secret") }}
{{- end }}
{{- include "karpenter.text" (list "NOTIFICATION_FORMAT" $s.notifications.format) }}
{{- include "karpenter.text" (list "NOTIFICATION_EVENTS" (join "," $s.notifications.events)) }}
{{- end }}
{{- include "karpenter.variable" (list "DISABLE_CLUSTER_STATE_OBSERVABILITY" $s.disableClusterStateObservability) }}
{{- include "karpenter.variable" (list "LEGACY_NODE_REPAIR" $s.legacyNodeRepair) }}
- name: FEATURE_GATES
  value: {{ include "karpenter.featureGates" . | quote }}
- name: CLOUD_PROVIDER
  value: {{ $s.cloudProvider }}
{{- if eq $s.cloudProvider "aws" }}
{{ include "karpenter.environment.aws" . }}
{{- else if eq $s.cloudProvider "azure" }}
{{- include "karpenter.environment.azure" . }}
{{- else if eq $s.cloudProvider "kwok" }}
{{- include "karpenter.text" (list "CATALOG" $s.kwok.catalog) }}
{{- end }}
{{- end }}

{{- define "karpenter.environment.aws" -}}
{{- $s := .Values.settings -}}
- name: CLUSTER_NAME
  value: {{ required "Chart cannot be installed without a valid settings.clusterName!" (default .Values.controller.clusterName $s.clusterName) | quote }}
{{- include "karpenter.text" (list "CLUSTER_ENDPOINT" (include "karpenter.clusterEndpoint" .)) }}
{{- include "karpenter.text" (list "CLUSTER_CA_BUNDLE" (tpl (default "" $s.clusterCABundle) .)) }}
{{- include "karpenter.text" (list "INTERRUPTION_QUEUE" (tpl (default "" $s.interruptionQueue) .)) }}
{{- include "karpenter.variable" (list "ISOLATED_VPC" $s.isolatedVPC) }}
{{- include "karpenter.variable" (list "EKS_CONTROL_PLANE" $s.eksControlPlane) }}
{{- include "karpenter.variable" (list "ENABLE_ZONAL_SHIFT" $s.enableZonalShift) }}
{{- include "karpenter.variable" (list "DISABLE_DRY_RUN" $s.disableDryRun) }}
{{- include "karpenter.variable" (list "VM_MEMORY_OVERHEAD_PERCENT" $s.vmMemoryOverheadPercent) }}
{{- include "karpenter.variable" (list "RESERVED_ENIS" $s.reservedENIs) }}
{{- include "karpenter.text" (list "AMI_REFRESH_INTERVAL" $s.amiRefreshInterval) }}
{{- include "karpenter.text" (list "SUBNET_REFRESH_INTERVAL" $s.subnetRefreshInterval) }}
{{- include "karpenter.text" (list "SECURITY_GROUP_REFRESH_INTERVAL" $s.securityGroupRefreshInterval) }}
- name: AWS_FEATURE_GATES
  value: {{ include "karpenter.awsFeatureGates" . | quote }}
{{- end }}

{{- define "karpenter.clusterEndpoint" -}}
{{- tpl (default "" (default .Values.controller.clusterEndpoint .Values.settings.clusterEndpoint)) . | trimAll "\"" -}}
{{- end }}
