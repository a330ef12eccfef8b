package requeue_test

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

func TestOnConflict(t *testing.T) {
	things := schema.GroupResource{Resource: "things"}
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		err    error
		result reconcile.Result
		want   error
	}{
		"no error":      {nil, reconcile.Result{}, nil},
		"not found":     {fmt.Errorf("writing: %w", apierrors.NewNotFound(things, "a")), reconcile.Result{}, nil},
		"a conflict":    {fmt.Errorf("writing: %w", apierrors.NewConflict(things, "a", boom)), requeue.Soon(), nil},
		"anything else": {boom, reconcile.Result{}, boom},
	} {
		t.Run(name, func(t *testing.T) {
			if result, err := requeue.OnConflict(c.err); result != c.result || !errors.Is(err, c.want) {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}
