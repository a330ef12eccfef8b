package operator

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/forecast"
	"github.com/karpenter-anew/karpenter/internal/forecast/edit"
	"github.com/karpenter-anew/karpenter/internal/forecast/report"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/view"
)

// editPatience bounds the forecasts of one edit, which take the processor from the controllers.
const editPatience = 20 * time.Second

// edits compares edits for the console of the controller: with its caches, its settings and its cloud. One edit is compared at a time.
type edits struct {
	reader *manifest.Reader
	place  cloud.Cloud
	// state says which kinds of objects the process reads.
	state *liveState
	turn  chan struct{}
}

// newEdits returns what compares edits of the cluster that the state shows.
func newEdits(p plugin.Provider, place cloud.Cloud, state *liveState) (*edits, error) {
	definitions, err := p.Definitions()
	if err != nil {
		return nil, fmt.Errorf("reading the CustomResourceDefinitions of cloud provider %q: %w", p.Name, err)
	}
	reader, err := manifest.NewReader(definitions, p.AddToScheme)
	if err != nil {
		return nil, fmt.Errorf("preparing to read the manifests of edits: %w", err)
	}
	return &edits{reader: reader, place: place, state: state, turn: make(chan struct{}, 1)}, nil
}

// compare implements view.Compare.
func (e *edits) compare(ctx context.Context, s view.ClusterState, manifests []byte) (report.Diff, error) {
	edited, err := edit.Read(e.reader, manifests)
	if err != nil {
		return report.Diff{}, fmt.Errorf("%w: %w", view.ErrInvalid, err)
	}
	for _, o := range edited.Objects {
		if _, ok := e.state.named[reflect.TypeOf(o)]; !ok {
			return report.Diff{}, fmt.Errorf("%w: %s %q: the controller compares edits of %s; run karpenter diff -f FILE, or karpenter console, on your host for other kinds",
				view.ErrInvalid, o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), e.state.editable())
		}
	}
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return report.Diff{}, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, editPatience, errEditTooLong)
	defer cancel()
	d, _, err := edit.Compare(ctx, edit.Input{Objects: s.Objects, Edited: edited, Open: e.open, Options: forecast.Options{Options: s.Options}})
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errEditTooLong) {
		return report.Diff{}, fmt.Errorf("%w: %w", view.ErrInvalid, cause)
	}
	d.Notes = append(d.Notes, s.Unknown...)
	return d, err
}

var errEditTooLong = fmt.Errorf("the comparison takes more than %s in this cluster, and the controller needs its processors for other work: run karpenter diff -f FILE on your host",
	editPatience)

// open is the cloud of the process for any objects: the status of an edited node class is that of the stored one.
func (e *edits) open(_ context.Context, objects []client.Object) (plugin.Opened, error) {
	return plugin.Opened{Cloud: e.place, Objects: objects, Source: "the cloud of the controller"}, nil
}
