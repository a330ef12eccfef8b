// Package front is the HTTP front of an API server in memory: paths, content types, watch streams, discovery and OpenAPI, for client-go,
// controller-runtime and kubectl. Package registry decides what a request does.
//
// What it serves: the built-in kinds in the table of package kind, and kinds of CustomResourceDefinitions, with get, list, watch, create,
// update, patch (JSON patch, merge patch, strategic merge patch, server-side apply), delete and deletecollection; the subresources status, scale,
// binding and eviction of pods, and finalize of namespaces; dry run; field validation; label and field selectors; limit and continue; watches
// with bookmarks and initial events; tables and partial metadata; reviews of access, which allow everything; discovery, aggregated or not, and
// OpenAPI v3. The scenarios of package conformance say in detail how it answers.
//
// What it does not do:
//   - Authentication and authorization. Every request is allowed. There are no users, service account tokens or RBAC, and no kinds of
//     authentication.k8s.io.
//   - Other kinds of Kubernetes. They are not in discovery, and requests for them get 404. Events are served in the core group only.
//   - Admission webhooks and policies. Their kinds are not served. Of the admission plugins, NamespaceLifecycle, Priority,
//     DefaultTolerationSeconds, StorageObjectInUseProtection and TaintNodesByCondition have an effect; ServiceAccount, LimitRanger, ResourceQuota and the others do not.
//   - Conversion webhooks. A CustomResourceDefinition that asks for one is rejected.
//   - All validation of CustomResourceDefinitions: names, versions, structure, defaults, keys of lists and rules are checked; the estimated cost of
//     rules, paths of printer columns and of selectable fields, and the approval of protected groups are not.
//   - Controllers. Garbage collection and the end of namespaces are steps that the owner of a registry runs (Registry.Collect).
//   - All validation of built-in kinds: metadata, containers, resources, tolerations, taints, selectors, amounts of PodDisruptionBudgets and immutable
//     fields are checked; volumes, probes, security contexts, affinity terms, types of Secrets and statuses are not.
//   - Allocation: a Service gets no cluster IP and no node port. A claim without a storage class does not get the default one.
//   - Logs, exec, attach, port forwarding, proxies, ephemeral containers and resize of pods: 501.
//   - Protobuf and CBOR responses. Responses are JSON; request bodies may be JSON, YAML or protobuf (built-in kinds).
//   - Managed fields of the subresources binding and eviction: they are not tracked.
//   - Some texts of errors: differences of pod specs that kube-apiserver appends, and causes whose order it does not fix.
package front
