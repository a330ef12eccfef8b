// Package logfield makes the fields of log lines: a function for each field, so that a field has one name, one type and one meaning
// everywhere. Log calls use no other fields; the tests of package internal check that, and that docs/reference/logs.md lists them.
//
// Names and types are those of upstream Karpenter, where it has the field, because dashboards and queries read them: names of objects are
// objects with name and namespace, durations and lists of names are texts. Fields of a single provider are in a package like this one
// in the folder of the provider.
// Source: spec, logging and log fields.
package logfield
