// Command charts writes what the Helm charts take from elsewhere in the repository: the tables of values in their README files,
// from the comments of values.yaml, and the definitions of Karpenter's kinds.
//
// Usage, in the directory charts: go run -C ../tools/charts . -charts ../../charts -crds ../../api/crds
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
)

func main() {
	charts := flag.String("charts", "charts", "folder of the charts")
	crds := flag.String("crds", "api/crds", "folder of the definitions")
	flag.Parse()
	if err := run(*charts, *crds); err != nil {
		slog.Error("writing the generated parts of the charts", "error", err)
		os.Exit(1)
	}
}

func run(charts, crds string) error {
	for _, name := range []string{"karpenter", "karpenter-crd"} {
		if err := document(filepath.Join(charts, name)); err != nil {
			return fmt.Errorf("chart %s: %w", name, err)
		}
	}
	for _, c := range copies() {
		if err := c.write(charts, crds); err != nil {
			return fmt.Errorf("copying definitions into %s: %w", c.to, err)
		}
	}
	return nil
}
