// Command charts writes what the Helm charts take from elsewhere in the repository: the tables of values in their README files,
// from the comments of values.yaml, and the definitions of Karpenter's kinds.
//
// Usage, in the directory charts: go run -C ../tools/charts . -charts ../../charts -api ../../api
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
	api := flag.String("api", "api", "folder of the API types and of the definitions")
	flag.Parse()
	if err := run(*charts, *api); err != nil {
		slog.Error("writing the generated parts of the charts", "error", err)
		os.Exit(1)
	}
}

func run(charts, api string) error {
	for _, name := range []string{"karpenter", "karpenter-crd"} {
		if err := document(filepath.Join(charts, name)); err != nil {
			return fmt.Errorf("chart %s: %w", name, err)
		}
	}
	folders, err := copies(api)
	if err != nil {
		return fmt.Errorf("listing definitions: %w", err)
	}
	for _, c := range folders {
		if err := c.write(charts, api); err != nil {
			return fmt.Errorf("copying definitions into %s: %w", c.to, err)
		}
	}
	return nil
}
