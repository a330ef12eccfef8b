{{- define "karpenter.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "karpenter.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "karpenter.selectorLabels" -}}
app.kubernetes.io/name: {{ include "karpenter.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "karpenter.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "karpenter.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.additionalLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Metadata of an object. Arguments: the root, the name, the namespace ("" for none), and optionally a dict of additional labels. */}}
{{- define "karpenter.metadata" -}}
{{- $root := index . 0 -}}
name: {{ index . 1 | quote }}
{{- with index . 2 }}
namespace: {{ . | quote }}
{{- end }}
labels:
  {{- include "karpenter.labels" $root | nindent 2 }}
  {{- if gt (len .) 3 }}
  {{- with index . 3 }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- end }}
{{- with $root.Values.additionalAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "karpenter.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "karpenter.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "karpenter.image" -}}
{{- $image := .Values.controller.image }}
{{- $image.repository }}:{{ default .Chart.AppVersion $image.tag }}{{ with $image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- /*
Annotations as a flat map, one pair per line. Helm splits keys of --set at dots, even inside quotes:
--set 'annotations."example.com/a"=b' becomes {"\"example": {"com/a\"": "b"}}. This template joins the levels again. Arguments: the
annotations and the prefix of their level.
*/}}
{{- define "karpenter.annotations" -}}
{{- $prefix := index . 1 }}
{{- range $key, $value := index . 0 }}
{{- $path := printf "%s%s" $prefix $key }}
{{- if kindIs "map" $value }}
{{- include "karpenter.annotations" (list $value (printf "%s." $path)) }}
{{- else }}
{{ trimAll "\"" $path | quote }}: {{ toString $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Pod terms without a selector use that of the chart. */}}
{{- define "karpenter.affinity" -}}
{{- $selector := include "karpenter.selectorLabels" . | fromYaml }}
{{- $affinity := deepCopy .Values.affinity }}
{{- range list "podAffinity" "podAntiAffinity" }}
{{- with get $affinity . }}
{{- range .requiredDuringSchedulingIgnoredDuringExecution }}
{{- if not .labelSelector }}{{ $_ := set . "labelSelector" (dict "matchLabels" $selector) }}{{ end }}
{{- end }}
{{- range .preferredDuringSchedulingIgnoredDuringExecution }}
{{- if not .podAffinityTerm.labelSelector }}{{ $_ := set .podAffinityTerm "labelSelector" (dict "matchLabels" $selector) }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $affinity }}
{{- end }}

{{- define "karpenter.spread" -}}
{{- $selector := include "karpenter.selectorLabels" . | fromYaml }}
{{- range .Values.topologySpreadConstraints }}
{{- $constraint := deepCopy . }}
{{- if not $constraint.labelSelector }}{{ $_ := set $constraint "labelSelector" (dict "matchLabels" $selector) }}{{ end }}
{{ toYaml (list $constraint) }}
{{- end }}
{{- end }}

{{- /* An environment variable, unless its value is null. false and 0 are values. Arguments: the name and the value. */}}
{{- define "karpenter.variable" -}}
{{- if not (kindIs "invalid" (index . 1)) }}
- name: {{ index . 0 }}
  value: {{ toString (index . 1) | quote }}
{{- end }}
{{- end }}

{{- /* An environment variable, unless its value is null or empty. Arguments: the name and the value. */}}
{{- define "karpenter.text" -}}
{{- with index . 1 }}
- name: {{ index $ 0 }}
  value: {{ . | quote }}
{{- end }}
{{- end }}

{{- /* Feature gates that have a value. Others keep the default of the binary. */}}
{{- define "karpenter.featureGates" -}}
{{- $gates := list }}
{{- range list "ReservedCapacity" "SpotToSpotConsolidation" "NodeRepair" "NodeOverlay" "StaticCapacity" "CapacityBuffer" "TerminateFirstDrift" "TerminateFirstRepair" "PodDeletionCostManagement" "LegacyProvisioner" "TaintTolerationComparisonOperators" "OperationsPolicy" "NominatedNodeName" }}
{{- $value := get $.Values.settings.featureGates (untitle .) }}
{{- if ne (toString $value) "" }}{{ $gates = append $gates (printf "%s=%v" . $value) }}{{ end }}
{{- end }}
{{- join "," $gates }}
{{- end }}

{{- /* All feature gates of the provider for AWS. Those without a value are off, or as settings.enableDRA says. */}}
{{- define "karpenter.awsFeatureGates" -}}
{{- $gates := .Values.settings.awsFeatureGates -}}
{{- $devices := .Values.settings.enableDRA -}}
NodeClassCEL={{ default false $gates.nodeClassCEL }},DRANVIDIAGPU={{ default $devices $gates.draNVIDIAGPU }},DRAEFA={{ default $devices $gates.draEFA }},RebootForRepair={{ default false $gates.rebootForRepair }}
{{- end }}

{{- /* Whether pods with resource claims are rejected: "true" or "false". */}}
{{- define "karpenter.ignoresDevices" -}}
{{- $s := .Values.settings -}}
{{- $gates := $s.awsFeatureGates -}}
{{- $gated := and (eq $s.cloudProvider "aws") (or (eq (toString $gates.draNVIDIAGPU) "true") (eq (toString $gates.draEFA) "true")) -}}
{{- if or (eq (toString $s.enableDRA) "true") $gated -}}
false
{{- else if kindIs "invalid" $s.ignoreDRARequests -}}
true
{{- else -}}
{{ $s.ignoreDRARequests }}
{{- end }}
{{- end }}

{{- /* Settings that settings.enableDRA stands for and that are set beside it; empty if there are none. */}}
{{- define "karpenter.deviceConflicts" -}}
{{- $s := .Values.settings -}}
{{- $set := list -}}
{{- if eq (toString $s.enableDRA) "true" -}}
{{- range $key, $value := dict "settings.awsFeatureGates.draNVIDIAGPU" $s.awsFeatureGates.draNVIDIAGPU "settings.awsFeatureGates.draEFA" $s.awsFeatureGates.draEFA "settings.ignoreDRARequests" $s.ignoreDRARequests -}}
{{- if not (kindIs "invalid" $value) }}{{ $set = append $set $key }}{{ end -}}
{{- end -}}
{{- end -}}
{{- join ", " $set -}}
{{- end }}

{{- define "karpenter.subjects" -}}
- kind: ServiceAccount
  name: {{ include "karpenter.serviceAccountName" . | quote }}
  namespace: {{ .Release.Namespace | quote }}
{{- end }}

{{- /* RBAC rules for the node classes of the cloud provider. */}}
{{- define "karpenter.cloudRules" -}}
{{- if eq .Values.settings.cloudProvider "aws" -}}
- apiGroups: [karpenter.k8s.aws]
  resources: [ec2nodeclasses]
  verbs: [get, list, watch, patch]
- apiGroups: [karpenter.k8s.aws]
  resources: [ec2nodeclasses/status]
  verbs: [patch]
{{- if eq (toString .Values.settings.featureGates.legacyProvisioner) "true" }}
- apiGroups: [karpenter.k8s.aws]
  resources: [ec2nodeclasses]
  verbs: [create, delete]
- apiGroups: [karpenter.k8s.aws]
  resources: [awsnodetemplates]
  verbs: [get, list, watch]
- apiGroups: [karpenter.k8s.aws]
  resources: [awsnodetemplates/status]
  verbs: [patch]
- apiGroups: [karpenter.k8s.aws]
  resources: [awsnodetemplates/finalizers] # owner references of managed objects
  verbs: [update]
{{- end }}
{{- else if eq .Values.settings.cloudProvider "azure" -}}
{{ include "karpenter.cloudRules.azure" . }}
{{- else if eq .Values.settings.cloudProvider "kwok" -}}
- apiGroups: [karpenter.kwok.sh]
  resources: [kwoknodeclasses]
  verbs: [get, list, watch]
{{- if eq (toString .Values.settings.featureGates.legacyProvisioner) "true" }}
- apiGroups: [karpenter.kwok.sh]
  resources: [kwoknodeclasses]
  verbs: [create, patch]
{{- end }}
- apiGroups: [""]
  resources: [nodes] # simulated nodes
  verbs: [create]
- apiGroups: [""]
  resources: [nodes/status]
  verbs: [patch]
{{- if ne (include "karpenter.ignoresDevices" .) "true" }}
- apiGroups: [resource.k8s.io]
  resources: [resourceslices] # devices of simulated nodes
  verbs: [create]
{{- end }}
{{- end }}
{{- end }}

{{- /* The port of the console; empty if it is not served, or to the pod alone. */}}
{{- define "karpenter.consolePort" -}}
{{- with .Values.settings.consoleAddr }}
{{- if not (regexMatch "^(127\\.|localhost:|\\[::1\\]:)" .) }}{{ regexFind "[0-9]+$" . }}{{ end }}
{{- end }}
{{- end }}

{{- /* Not empty if the controller sends notifications. */}}
{{- define "karpenter.notifies" -}}
{{- if and .Values.settings.notifications.secretName (not .Values.settings.shadow) }}true{{ end }}
{{- end }}

{{- /* The files of notifications; volumes of the user follow. */}}
{{- define "karpenter.volumes" -}}
{{- if include "karpenter.notifies" . }}
- name: karpenter-notifications
  secret:
    secretName: {{ .Values.settings.notifications.secretName | quote }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "karpenter.volumeMounts" -}}
{{- if include "karpenter.notifies" . }}
- name: karpenter-notifications
  mountPath: /etc/karpenter/notifications
  readOnly: true
{{- end }}
{{- with .Values.controller.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}
