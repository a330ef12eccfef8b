// Command charts writes what the Helm charts take from elsewhere in the repository: the tables of values in their README files,
// from the comments of values.yaml, the definitions of Karpenter's kinds, and the dashboards, from their descriptions in this folder. It also
// writes the table of the alerts into the documentation.
//
// Usage, in the directory charts: go run -C ../tools/charts . -charts ../../charts -api ../../api -docs ../../docs
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
	docs := flag.String("docs", "docs", "folder of the documentation")
	flag.Parse()
	if err := run(*charts, *api, *docs); err != nil {
		slog.Error("writing the generated parts of the charts", "error", err)
		os.Exit(1)
	}
}

func run(charts, api, docs string) error {
	for _, name := range []string{"karpenter", "karpenter-crd"} {
		if err := document(filepath.Join(charts, name)); err != nil {
			return fmt.Errorf("chart %s: %w", name, err)
		}
	}
	if err := writeDashboards(filepath.Join(charts, "karpenter", "dashboards")); err != nil {
		return fmt.Errorf("writing the dashboards: %w", err)
	}
	if err := documentAlerts(filepath.Join(charts, "karpenter", "alerts", "karpenter.yaml"), filepath.Join(docs, "metrics.md")); err != nil {
		return fmt.Errorf("writing the table of the alerts: %w", err)
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
