package cloud_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/karpenter-anew/karpenter/cloud"
)

func TestErrorsAreRecognisedThroughWrapping(t *testing.T) {
	t.Attr("covers", "L407")
	cause := errors.New("the cause")
	isCreateError := func(err error) bool { _, ok := cloud.AsCreateError(err); return ok }
	isDeleteError := func(err error) bool { _, ok := cloud.AsDeleteError(err); return ok }
	tests := []struct {
		name  string
		err   error
		text  string
		label string
		is    func(error) bool
		bare  bool // carries no cause
	}{
		{
			name: "not found", err: cloud.NewNodeClaimNotFoundError(cause),
			text: "nodeclaim not found, the cause", label: "NodeClaimNotFoundError", is: cloud.IsNodeClaimNotFound,
		},
		{
			name: "capacity", err: cloud.NewInsufficientCapacityError(cause),
			text: "insufficient capacity, the cause", label: "InsufficientCapacityError", is: cloud.IsInsufficientCapacity,
		},
		{
			name: "class", err: cloud.NewNodeClassNotReadyError(cause),
			text: "NodeClassRef not ready, the cause", label: "NodeClassNotReadyError", is: cloud.IsNodeClassNotReady,
		},
		{
			name: "create", err: cloud.NewCreateError(cause, "Reason", "message"),
			text: "creating nodeclaim, the cause", is: isCreateError,
		},
		{
			name: "delete", err: cloud.NewDeleteError(cause, "Reason", "message"),
			text: "deleting nodeclaim, the cause", is: isDeleteError,
		},
		{
			name: "unevaluated", err: cloud.NewUnevaluatedNodePoolError("default"),
			text: `nodepool "default" is awaiting evaluation`, is: cloud.IsUnevaluatedNodePool, bare: true,
		},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.err.Error(); got != tt.text {
				t.Errorf("text is %q, want %q", got, tt.text)
			}
			wrapped := fmt.Errorf("launching: %w", tt.err)
			if errors.Is(wrapped, cause) == tt.bare {
				t.Errorf("the cause is found: %t", !tt.bare)
			}
			if got := cloud.ErrorLabel(wrapped); got != tt.label {
				t.Errorf("label is %q, want %q", got, tt.label)
			}
			for j, other := range tests {
				if got := other.is(wrapped); got != (i == j) {
					t.Errorf("recognised as %s: %t", other.name, got)
				}
			}
		})
	}
}

func TestNoErrorIsOfNoType(t *testing.T) {
	if cloud.IsNodeClaimNotFound(nil) || cloud.IsInsufficientCapacity(nil) || cloud.IsNodeClassNotReady(nil) {
		t.Error("nil is taken for a typed error")
	}
	if got := cloud.ErrorLabel(errors.New("plain")); got != "" {
		t.Errorf("a plain error is counted as %q", got)
	}
}

func TestIgnoreNodeClaimNotFound(t *testing.T) {
	plain := errors.New("plain")
	if err := cloud.IgnoreNodeClaimNotFound(plain); !errors.Is(err, plain) {
		t.Errorf("a plain error became %v", err)
	}
	if err := cloud.IgnoreNodeClaimNotFound(fmt.Errorf("deleting: %w", cloud.NewNodeClaimNotFoundError(plain))); err != nil {
		t.Errorf("not found became %v", err)
	}
}

func TestCreateErrorCarriesItsCondition(t *testing.T) {
	err := fmt.Errorf("launching: %w", cloud.NewCreateError(errors.New("denied"), "AccessDenied", "not allowed to launch"))
	got, ok := cloud.AsCreateError(err)
	if !ok || got.Reason != "AccessDenied" || got.Message != "not allowed to launch" {
		t.Errorf("got %+v, %t", got, ok)
	}
}
