package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/karpenter-anew/karpenter/internal/command/views"
	"github.com/karpenter-anew/karpenter/internal/forecast"
	"github.com/karpenter-anew/karpenter/internal/forecast/edit"
	"github.com/karpenter-anew/karpenter/internal/forecast/report"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/view"
)

// compare returns what manifests would change in a captured cluster.
func compare(cluster *views.Captured) view.Compare {
	return func(ctx context.Context, s view.ClusterState, manifests []byte) (report.Diff, error) {
		held := cluster.Held()
		edited, err := readEdit(held.Reader, manifests)
		if err != nil {
			return report.Diff{}, err
		}
		d, _, err := edit.Compare(ctx, edit.Input{Objects: held.Objects, Edited: edited, Open: held.Open, Options: forecast.Options{Options: s.Options}})
		return d, err
	}
}

// readEdit reads the manifests of an edit.
func readEdit(reader *manifest.Reader, text []byte) (manifest.Manifest, error) {
	edited, err := reader.Read("edit", bytes.NewReader(text))
	if err == nil && len(edited.Objects) == 0 {
		err = errors.New("the manifests hold no objects that have a bearing on nodes: paste NodePools, node classes or workloads as YAML")
	}
	if err != nil {
		return edited, fmt.Errorf("%w: %w", view.ErrInvalid, err)
	}
	return edited, nil
}
