// Package stages holds the behaviour of simulated nodes and of the pods on them, as Stage objects of the kwok simulator.
//
// They imitate a kubelet closely enough for a node provisioner: a node becomes and remains Ready, a pod bound to it runs, a Job's pod
// completes or fails, and a deleted pod first terminates, for as long as its preStop hook takes, and is then removed. They never
// remove a finalizer and never change the capacity of a node that has one.
package stages

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// pod are definitions that several stages use in their expressions, in the language of jq.
//
//go:embed pod.jq
var pod string

// podMark is replaced by definitions in the stages.
const podMark = "@pod@"

// definitions are those of pod on one line, for a quoted YAML string.
func definitions() string { return strings.Join(strings.Fields(pod), " ") }

// YAML returns all stages as one multi-document YAML text, in the order of their file names.
func YAML() ([]byte, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing stages: %w", err)
	}
	slices.Sort(names)
	var out []byte
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading stage %s: %w", name, err)
		}
		out = append(out, "---\n"...)
		out = append(out, strings.ReplaceAll(string(text), podMark, definitions())...)
	}
	return out, nil
}
