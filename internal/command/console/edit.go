package console

import (
	"context"
	"fmt"

	"github.com/karpenter-anew/karpenter/internal/command/views"
	"github.com/karpenter-anew/karpenter/internal/forecast"
	"github.com/karpenter-anew/karpenter/internal/forecast/edit"
	"github.com/karpenter-anew/karpenter/internal/forecast/report"
	"github.com/karpenter-anew/karpenter/internal/view"
)

// compare returns what manifests would change in a captured cluster.
func compare(cluster *views.Captured) view.Compare {
	return func(ctx context.Context, s view.ClusterState, manifests []byte) (report.Diff, error) {
		held := cluster.Held()
		edited, err := edit.Read(held.Reader, held.Objects, manifests)
		if err != nil {
			return report.Diff{}, fmt.Errorf("%w: %w", view.ErrInvalid, err)
		}
		d, opened, err := edit.Compare(ctx, edit.Input{Objects: held.Objects, Edited: edited, Open: held.Open, Options: forecast.Options{Options: s.Options}})
		d.Notes = append(d.Notes, opened.Notes...)
		return d, err
	}
}
