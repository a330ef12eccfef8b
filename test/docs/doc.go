// Package docs holds tests of the documentation: objects that it shows are let in by the definitions, and what it names exists. The
// commands that it shows are run beside the command itself.
//
// How pages are written, so that they can be checked:
//
//   - A fenced block "yaml" whose documents have apiVersion and kind holds objects. Those of Karpenter are judged by the definitions
//     of AWS, or of kwok where the block refers to its classes; those of Kubernetes are decoded strictly.
//   - A fenced block "yaml KIND" is a part of an object of that kind. It takes the place of the same fields of a small object.
//   - Links without a scheme are files, with the heading after "#". Names of files in the text begin with a folder of the repository.
//   - Text in code is a name: of a metric if it begins like one, of a variable of the environment if it is in capitals with an
//     underscore, of a field if it begins with "spec." or "status.", of a label or annotation if it has a domain of Karpenter; a word
//     in camel case is an event, a condition, a reason, a kind, a field or a value. All of these have to be in the code.
package docs
