{{- /* What depends on the cloud provider Azure. Its other settings are in controller.env, as in the values files of upstream's chart for Azure. */}}
{{- define "karpenter.environment.azure" -}}
{{- $s := .Values.settings -}}
{{- $elsewhere := not (empty .Values.controller.envFrom) -}}
{{- $name := default .Values.controller.clusterName $s.clusterName -}}
{{- if not (or $name $elsewhere (include "karpenter.variableOfUser" (list . "CLUSTER_NAME"))) }}
{{- fail "Chart cannot be installed without a valid settings.clusterName!" }}
{{- end }}
{{- $endpoint := include "karpenter.clusterEndpoint" . -}}
{{- if not (or $endpoint $elsewhere (include "karpenter.variableOfUser" (list . "CLUSTER_ENDPOINT"))) }}
{{- fail "Chart cannot be installed without a valid settings.clusterEndpoint! Set it to the address of the API server, for example https://NAME.hcp.eastus.azmk8s.io:443" }}
{{- end }}
{{- include "karpenter.text" (list "CLUSTER_NAME" $name) }}
{{- include "karpenter.text" (list "CLUSTER_ENDPOINT" $endpoint) }}
{{- include "karpenter.variable" (list "VM_MEMORY_OVERHEAD_PERCENT" $s.vmMemoryOverheadPercent) }}
{{- include "karpenter.text" (list "ADDITIONAL_TAGS" (include "karpenter.tags" .)) }}
{{- end }}

{{- /* settings.tags as the binary reads them. Whole numbers of a values file are written with all their digits. */}}
{{- define "karpenter.tags" -}}
{{- $pairs := list -}}
{{- range $key, $value := .Values.settings.tags -}}
{{- $text := toString $value -}}
{{- if kindIs "float64" $value -}}{{- if eq (floor $value) $value -}}{{- $text = printf "%.0f" $value -}}{{- end -}}{{- end -}}
{{- $pairs = append $pairs (printf "%s=%s" $key $text) -}}
{{- end -}}
{{- join "," $pairs -}}
{{- end }}

{{- /*
The value of a variable of controller.env: the last one counts, as in the container. "(a reference)" if its value comes from another object,
and empty if it is not there. Arguments: the root and the name.
*/}}
{{- define "karpenter.variableOfUser" -}}
{{- $name := index . 1 -}}
{{- $value := "" -}}
{{- range (index . 0).Values.controller.env -}}
{{- if eq (toString .name) $name }}{{ $value = ternary "(a reference)" (toString (default "" .value)) (hasKey . "valueFrom") }}{{ end -}}
{{- end -}}
{{- $value -}}
{{- end }}

{{- /* The problems of values for Azure, as a list in JSON. */}}
{{- define "karpenter.azureProblems" -}}
{{- $s := .Values.settings -}}
{{- $problems := list -}}
{{- if eq $s.cloudProvider "azure" -}}
{{- range list (list "CLUSTER_NAME" "settings.clusterName" (default .Values.controller.clusterName $s.clusterName)) (list "CLUSTER_ENDPOINT" "settings.clusterEndpoint" (include "karpenter.clusterEndpoint" .)) (list "ADDITIONAL_TAGS" "settings.tags" (include "karpenter.tags" .)) -}}
{{- $other := include "karpenter.variableOfUser" (list $ (index . 0)) -}}
{{- if and (index . 2) $other (ne (index . 2) $other) -}}
{{- $problems = append $problems (printf "%s is %s and controller.env sets %s to %s. Remove one of them" (index . 1) (index . 2) (index . 0) $other) -}}
{{- end -}}
{{- end -}}
{{- $keys := dict -}}
{{- range $key, $_ := $s.tags -}}
{{- if not (regexMatch "^[^<>%&?/,=\\\\]{1,512}$" $key) -}}
{{- $problems = append $problems (printf "settings.tags has the key %s: a key has 1 to 512 characters, and none of < > %% & ? \\ / , =" (trunc 60 $key)) -}}
{{- end -}}
{{- with get $keys (lower $key) -}}
{{- $problems = append $problems (printf "settings.tags has the keys %s and %s, which are the same for Azure. Remove one of them" . $key) -}}
{{- end -}}
{{- $_ := set $keys (lower $key) $key -}}
{{- end -}}
{{- with include "karpenter.aksMachinesProblem" . }}{{ $problems = append $problems . }}{{ end -}}
{{- if eq (toString $s.featureGates.legacyProvisioner) "true" -}}
{{- $problems = append $problems "settings.featureGates.legacyProvisioner is true and settings.cloudProvider is azure: earlier APIs have no node class for Azure. Set the gate to false" -}}
{{- end -}}
{{- else if eq $s.cloudProvider "aws" -}}
{{- $found := list -}}
{{- if $s.tags }}{{ $found = append $found "settings.tags" }}{{ end -}}
{{- range list "AZURE_NODE_RESOURCE_GROUP" "KUBELET_BOOTSTRAP_TOKEN" -}}
{{- if include "karpenter.variableOfUser" (list $ .) }}{{ $found = append $found (printf "%s in controller.env" .) }}{{ end -}}
{{- end -}}
{{- with $found -}}
{{- $problems = append $problems (printf "settings.cloudProvider is aws, and these values are for Azure: %s. Set settings.cloudProvider=azure, or remove them" (join ", " .)) -}}
{{- end -}}
{{- end -}}
{{- toJson $problems -}}
{{- end }}

{{- /*
Which variables a provision mode with AKSMachines lacks; empty if none. Those of controller.envFrom are not known.
*/}}
{{- define "karpenter.aksMachinesProblem" -}}
{{- $mode := include "karpenter.variableOfUser" (list . "PROVISION_MODE") -}}
{{- if and (has $mode (list "aksmachineapi" "aksmachineapiheaderbatch")) (empty .Values.controller.envFrom) -}}
{{- $missing := list -}}
{{- if not (has (include "karpenter.variableOfUser" (list . "USE_SIG") | lower) (list "true" "t" "1" "(a reference)")) }}{{ $missing = append $missing "USE_SIG=true" }}{{ end -}}
{{- $root := . -}}
{{- range list "SIG_SUBSCRIPTION_ID" "AKS_MACHINES_POOL_NAME" "ARM_RESOURCE_GROUP" -}}
{{- if not (include "karpenter.variableOfUser" (list $root .)) }}{{ $missing = append $missing . }}{{ end -}}
{{- end -}}
{{- with $missing -}}
controller.env sets PROVISION_MODE to {{ $mode }}, which needs more variables. Add to controller.env: {{ join ", " . }}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* RBAC rules of the provider for Azure. */}}
{{- define "karpenter.cloudRules.azure" -}}
- apiGroups: [karpenter.azure.com]
  resources: [aksnodeclasses]
  verbs: [get, list, watch, patch]
- apiGroups: [karpenter.azure.com]
  resources: [aksnodeclasses/status]
  verbs: [patch]
# Whether network policies restrict the DNS proxy of nodes
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [list]
- apiGroups: [cilium.io]
  resources: [ciliumnetworkpolicies, ciliumclusterwidenetworkpolicies]
  verbs: [list]
- apiGroups: [crd.projectcalico.org]
  resources: [networkpolicies, globalnetworkpolicies]
  verbs: [list]
{{- end }}
