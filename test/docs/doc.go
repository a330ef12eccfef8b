// Package docs tests the documentation: the objects on its pages pass the CRDs, and the names on its pages exist. The commands on the
// pages are tested beside the command itself.
//
// Conventions that make pages testable:
//
//   - A fenced block "yaml" whose documents have apiVersion and kind contains objects. Karpenter objects are validated with the CRDs of
//     AWS, or of kwok if the block refers to kwok node classes. Kubernetes objects are decoded strictly.
//   - A fenced block "yaml KIND" contains a part of the spec of that kind. The test merges it into a minimal object.
//   - Links without a scheme are files, with the heading after "#". File names in the text start with a folder of the repository.
//   - Code spans are names and must exist in the code: a metric if it starts like one, an environment variable if it is upper case with an
//     underscore, a field if it starts with "spec." or "status.", a label or annotation if it has a Karpenter domain. A word in camel case
//     is an event, a condition, a reason, a kind, a field or a value.
package docs
