{{- /* Fails with every problem of the values that the schema cannot express. */}}
{{- define "karpenter.checks" -}}
{{- $problems := list }}
{{- with include "karpenter.imageProblem" . }}{{ $problems = append $problems . }}{{ end }}
{{- if eq (int .Values.controller.metrics.port) (int .Values.controller.healthProbe.port) }}
{{- $problems = append $problems (printf "controller.metrics.port and controller.healthProbe.port are both %v: they must differ" .Values.controller.metrics.port) }}
{{- end }}
{{- if and .Values.serviceMonitor.enabled .Values.podMonitor.enabled }}
{{- $problems = append $problems "serviceMonitor.enabled and podMonitor.enabled are both true: Prometheus would store every series twice. Set one of them to false" }}
{{- end }}
{{- if and .Values.podMonitor.enabled .Values.settings.secureMetrics (not (or (hasKey (default dict .Values.podMonitor.endpointConfig) "authorization") (hasKey (default dict .Values.podMonitor.endpointConfig) "bearerTokenSecret"))) }}
{{- $problems = append $problems "settings.secureMetrics and podMonitor.enabled are both true, and a PodMonitor cannot use the token of Prometheus. Set podMonitor.endpointConfig.authorization to a Secret with a token, or use serviceMonitor.enabled" }}
{{- end }}
{{- if and .Values.networkPolicy.enabled .Values.hostNetwork }}
{{- $problems = append $problems "networkPolicy.enabled and hostNetwork are both true: NetworkPolicies do not apply to pods on the host network. Set one of them to false" }}
{{- end }}
{{- if .Values.settings.shadow }}
{{- if or .Values.serviceMonitor.enabled .Values.podMonitor.enabled }}
{{- $problems = append $problems "settings.shadow is true, and karpenter shadow has no metrics: set serviceMonitor.enabled and podMonitor.enabled to false" }}
{{- end }}
{{- end }}
{{- with include "karpenter.deviceConflicts" . }}
{{- $problems = append $problems (printf "settings.enableDRA is mutually exclusive with %s: unset them, or unset settings.enableDRA" .) }}
{{- end }}
{{- $gates := .Values.settings.featureGates }}
{{- if and (eq (toString .Values.settings.legacyNodeRepair) "true") (eq (toString (get $gates "terminateFirstRepair")) "true") }}
{{- $problems = append $problems "settings.legacyNodeRepair can't be combined with settings.featureGates.terminateFirstRepair: legacy node repair launches no replacements. Set one of them to false" }}
{{- end }}
{{- with include "karpenter.unknownAlerts" . }}{{ $problems = append $problems . }}{{ end }}
{{- if and (gt (int .Values.replicas) 1) (has (include "karpenter.variableOfUser" (list . "DISABLE_LEADER_ELECTION") | lower) (list "true" "t" "1")) }}
{{- $problems = append $problems (printf "replicas is %v and controller.env sets DISABLE_LEADER_ELECTION=true: each replica would launch nodes for the same pods. Set replicas to 1, or remove DISABLE_LEADER_ELECTION" .Values.replicas) }}
{{- end }}
{{- $problems = concat $problems (include "karpenter.azureProblems" . | fromJsonArray) }}
{{- if $problems }}{{ fail (join "\n" $problems) }}{{ end }}
{{- end }}

{{- /*
What is wrong with controller.image; empty if nothing is. Values of upstream's charts name an image of upstream by tag and digest. A
digest determines the image, whatever the tag. The public repositories and their mirrors are recognized by their path. An image of this project may be kept in a repository
with the path of a mirror, as long as neither tag nor digest can be one of upstream's.
*/}}
{{- define "karpenter.imageProblem" -}}
{{- $image := .Values.controller.image }}
{{- $repository := toString $image.repository }}
{{- $tag := toString (default "" $image.tag) }}
{{- $digest := toString (default "" $image.digest) }}
{{- $ownTag := or (eq $tag "") (eq $tag (toString .Chart.AppVersion)) }}
{{- $public := regexMatch "(^|/)(public\\.ecr\\.aws/karpenter[^/]*|mcr\\.microsoft\\.com/aks/karpenter)/" $repository }}
{{- $mirrored := and (regexMatch "/karpenter/controller$" $repository) (or $digest (and (not $ownTag) (regexMatch "^v?[0-9]+\\.[0-9]+" $tag))) }}
{{- if or $public $mirrored -}}
controller.image is {{ $repository }}{{ with $tag }}:{{ . }}{{ end }}{{ with $digest }}@{{ . }}{{ end }}, an image of upstream Karpenter, and this chart does not run upstream's controller. Remove controller.image.repository, tag and digest from your values, or set an image of this project: --set controller.image.repository=YOUR/REPOSITORY --set controller.image.tag={{ .Chart.AppVersion }} --set controller.image.digest=
{{- if not $public }} (for an image of this project in a repository that ends in karpenter/controller: set no digest, and a tag that is {{ .Chart.AppVersion }} or no version){{ end }}
{{- else if and $digest (not $ownTag) -}}
controller.image.tag is {{ $tag }} and controller.image.digest is {{ $digest }}: the digest decides which image runs, and the tag has no effect. Set one of them: --set controller.image.digest= to run the tag, or --set controller.image.tag= to run the digest
{{- end }}
{{- end }}
