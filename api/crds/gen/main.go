// Command gen writes the CRDs of the core kinds and of the kinds of earlier APIs. Cloud providers have their own command,
// such as api/kwok/crds/gen.
//
// Usage: go run ./api/crds/gen
package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/karpenter-anew/karpenter/api/crds/generator"
)

func main() {
	if err := run(); err != nil {
		slog.Error("generating CRDs", "error", err)
		os.Exit(1)
	}
}

func run() error {
	g, err := generator.New()
	if err != nil {
		return err
	}
	core, err := g.Load("./api/v1", "./api/v1alpha1", "./api/autoscaling/...", "./api/ops/...")
	if err != nil {
		return err
	}
	for _, crd := range core {
		if err := constrain(crd); err != nil {
			return fmt.Errorf("constraining %s: %w", crd.Name, err)
		}
	}
	if err := g.Write("api/crds", core...); err != nil {
		return err
	}
	legacy, err := g.Load("./api/legacy/...")
	if err != nil {
		return err
	}
	return g.Write("api/crds/legacy", legacy...)
}
