package edits

import (
	"context"
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/view"
)

// all kinds can be edited.
type all struct{}

func (all) CanEdit(client.Object) bool { return true }
func (all) Editable() string           { return "all" }

// TestClientsLeave: a client that leaves while another edit is compared waits no longer.
func TestClientsLeave(t *testing.T) {
	place, err := kwok.New(nil, kwok.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(kwok.Provider(), place.WithDefaults(), all{})
	if err != nil {
		t.Fatal(err)
	}
	e.turn <- struct{}{}
	gone, leave := context.WithCancel(t.Context())
	leave()
	manifests := "apiVersion: karpenter.kwok.sh/v1alpha1\nkind: KWOKNodeClass\nmetadata: {name: default}\n"
	if _, err := e.Compare(gone, view.ClusterState{}, []byte(manifests)); !errors.Is(err, context.Canceled) {
		t.Errorf("it got %v", err)
	}
}
