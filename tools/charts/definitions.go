package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// folder is one that contains only copies of definitions.
type folder struct {
	// from are patterns below the folder api, to is a folder below that of the charts.
	from []string
	to   string
}

// copies lists the folders. What Helm installs by itself cannot depend on values, so that folder has the node classes of every
// cloud provider, and the core kinds as AWS has them: only the label domain of EC2 is restricted there. Those of Azure also reject labels
// that mean something else elsewhere, such as accelerator.
func copies(api string) ([]folder, error) {
	sets, err := filepath.Glob(filepath.Join(api, "*", "crds"))
	if err != nil {
		return nil, err
	}
	installed := folder{[]string{"aws/crds/*.yaml"}, "karpenter/crds"}
	out := []folder{{[]string{"crds/legacy/*.yaml"}, "karpenter-crd/definitions/legacy"}}
	for _, set := range sets {
		provider := filepath.Base(filepath.Dir(set))
		out = append(out, folder{[]string{provider + "/crds/*.yaml"}, "karpenter-crd/definitions/" + provider})
		names, err := filepath.Glob(filepath.Join(set, "*.yaml"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if _, err := os.Stat(filepath.Join(api, "crds", filepath.Base(name))); os.IsNotExist(err) {
				installed.from = append(installed.from, provider+"/crds/"+filepath.Base(name)) // not a core kind
			}
		}
	}
	return append(out, installed), nil
}

// write recreates the folder.
func (f folder) write(charts, api string) error {
	to := filepath.Join(charts, f.to)
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, pattern := range f.from {
		names, err := filepath.Glob(filepath.Join(api, pattern))
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return fmt.Errorf("no definitions match %s", filepath.Join(api, pattern))
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
