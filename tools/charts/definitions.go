package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// folder is one that contains only copies of definitions.
type folder struct {
	// from are patterns below the folder of definitions, to is a folder below that of the charts.
	from []string
	to   string
}

// copies lists the folders. What Helm installs by itself cannot depend on values, so that folder has the node classes of every
// cloud, and the core kinds as AWS has them: only the label domain of EC2 is closed there.
func copies() []folder {
	return []folder{
		{[]string{"aws/*.yaml", "kwok/karpenter.kwok.sh_*.yaml"}, "karpenter/crds"},
		{[]string{"aws/*.yaml"}, "karpenter-crd/definitions/aws"},
		{[]string{"kwok/*.yaml"}, "karpenter-crd/definitions/kwok"},
		{[]string{"legacy/*.yaml"}, "karpenter-crd/definitions/legacy"},
	}
}

// write recreates the folder.
func (f folder) write(charts, crds string) error {
	to := filepath.Join(charts, f.to)
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, pattern := range f.from {
		names, err := filepath.Glob(filepath.Join(crds, pattern))
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return fmt.Errorf("no definitions match %s", filepath.Join(crds, pattern))
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(to, filepath.Base(name)), text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
