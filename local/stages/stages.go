// Package stages holds the behaviour of simulated nodes and of the pods on them, as Stage objects of the kwok simulator.
//
// They imitate a kubelet closely enough for a node provisioner: a node becomes and remains Ready, a pod bound to it runs, a Job's pod
// completes, and a deleted pod first terminates and is then removed. They never remove a finalizer and never change the capacity of a node
// that has one.
package stages

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
)

//go:embed *.yaml
var files embed.FS

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
		out = append(out, text...)
	}
	return out, nil
}
