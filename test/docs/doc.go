// Package docs tests the documentation: the objects on its pages pass the CRDs, the names on its pages exist, its kubectl commands run, and
// the site that is built of it is complete. Commands of karpenter and helm are tested beside the program and the charts.
//
// Conventions that make pages testable:
//
//   - A fenced block "yaml" whose documents have apiVersion and kind contains objects. Karpenter objects are validated with the CRDs of
//     AWS, or of kwok or Azure if the block refers to their node classes. Kubernetes objects are decoded strictly.
//   - A fenced block "yaml KIND" contains a part of the spec of that kind. The test merges it into a minimal object.
//   - Links without a scheme are files, with the heading after "#". File names in the text start with a folder of the repository.
//   - Code spans are names and must exist in the code: a metric if it starts like one, an environment variable if it is upper case with an
//     underscore, a field if it starts with "spec." or "status.", a label or annotation if it has a Karpenter domain. A word in camel case
//     is an event, a condition, a reason, a kind, a field or a value.
//   - In a fenced block "sh", a line that begins with "kubectl" is run against an API server, NAME standing for an object of the test.
package docs
