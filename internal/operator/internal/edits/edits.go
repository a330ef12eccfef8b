// Package edits compares edits for the console of the controller.
package edits

import (
	"context"
	"errors"
	"fmt"
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

// patience bounds the forecasts of one edit, which take the processor from the controllers.
const patience = 20 * time.Second

// Kinds says which kinds of objects the process reads, so that it can compare edits of them.
type Kinds interface {
	// CanEdit reports whether the object is of such a kind.
	CanEdit(o client.Object) bool
	// Editable are these kinds, as a list in a sentence.
	Editable() string
}

// Edits compares edits with the caches of the controller, its settings and its cloud. One edit is compared at a time.
type Edits struct {
	reader *manifest.Reader
	place  cloud.Cloud
	kinds  Kinds
	turn   chan struct{}
}

// New returns what compares edits in the cloud of the controller.
func New(p plugin.Provider, place cloud.Cloud, kinds Kinds) (*Edits, error) {
	definitions, err := p.Definitions()
	if err != nil {
		return nil, fmt.Errorf("reading the CustomResourceDefinitions of cloud provider %q: %w", p.Name, err)
	}
	reader, err := manifest.NewReader(definitions, p.AddToScheme)
	if err != nil {
		return nil, fmt.Errorf("preparing to read the manifests of edits: %w", err)
	}
	return &Edits{reader: reader, place: place, kinds: kinds, turn: make(chan struct{}, 1)}, nil
}

// Compare implements view.Compare. Errors that are the reader's to mend are view.ErrInvalid.
func (e *Edits) Compare(ctx context.Context, s view.ClusterState, manifests []byte) (report.Diff, error) {
	edited, err := edit.Read(e.reader, s.Objects, manifests)
	if err != nil {
		return report.Diff{}, fmt.Errorf("%w: %w", view.ErrInvalid, err)
	}
	for _, o := range edited.Objects {
		if !e.kinds.CanEdit(o) {
			return report.Diff{}, fmt.Errorf("%w: %s %q: the controller compares edits of %s; run karpenter diff -f FILE, or karpenter console, on your host for other kinds",
				view.ErrInvalid, o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), e.kinds.Editable())
		}
	}
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return report.Diff{}, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errTooLong)
	defer cancel()
	d, _, err := edit.Compare(ctx, edit.Input{Objects: s.Objects, Edited: edited, Open: e.open, Options: forecast.Options{Options: s.Options}})
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errTooLong) {
		return report.Diff{}, fmt.Errorf("%w: %w", view.ErrInvalid, cause)
	}
	d.Notes = append(d.Notes, s.Unknown...)
	return d, err
}

var errTooLong = fmt.Errorf("the comparison takes more than %s in this cluster, and the controller needs its processors for other work: run karpenter diff -f FILE on your host",
	patience)

// open is the cloud of the process for any objects: the status of an edited node class is that of the stored one.
func (e *Edits) open(_ context.Context, objects []client.Object) (plugin.Opened, error) {
	return plugin.Opened{Cloud: e.place, Objects: objects, Source: "the cloud of the controller"}, nil
}
