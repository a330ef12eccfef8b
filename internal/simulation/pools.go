package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// usablePools are the pools that may launch, with what they may launch; the others are noted with the reason.
func (w *world) usablePools(ctx context.Context, provider cloud.Provider) ([]*model.Pool, error) {
	catalogs := translate.NewCatalogs(w.translator)
	var out []*model.Pool
	for _, name := range slices.Sorted(maps.Keys(w.pools)) {
		pool := w.pools[name]
		why := w.judge(pool)
		if unusable := translate.Unusable(pool, w.cloud); unusable != "" {
			if why != "" {
				unusable += ": " + why
			}
			w.skip(name, unusable)
			continue
		}
		types, err := provider.InstanceTypes(ctx, pool)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil && len(types) == 0 {
			err = errNoInstanceTypes
		}
		if err != nil {
			w.skip(name, err.Error())
			continue
		}
		out = append(out, w.translator.Pool(pool, catalogs.Of(types)))
	}
	return out, nil
}

func (w *world) skip(name, why string) {
	w.skipped = append(w.skipped, SkippedPool{Name: name, Why: why})
}

// judge sets the conditions of a pool as its controllers would, and says what keeps it from being ready.
func (w *world) judge(pool *v1.NodePool) (why string) {
	if !w.cloud.Manages(pool.Spec.Template.Spec.NodeClassRef) {
		return ""
	}
	set := condition.For(pool, time.Time{})
	if err := pool.RuntimeValidate(w.cloud.Labels); err != nil {
		why = err.Error()
		set.False(v1.ConditionTypeValidationSucceeded, "NodePoolValidationFailed", why)
	} else {
		set.True(v1.ConditionTypeValidationSucceeded)
	}
	reason, message := w.classUnready(pool.Spec.Template.Spec.NodeClassRef)
	if reason == "" {
		set.True(v1.ConditionTypeNodeClassReady)
		return why
	}
	set.False(v1.ConditionTypeNodeClassReady, reason, message)
	if why != "" {
		why += "; "
	}
	return why + message
}

// classUnready says why the node class that ref names cannot be used; the reason is empty when it can.
// Source: lifecycle specification, NodePool readiness.
func (w *world) classUnready(ref *v1.NodeClassReference) (reason, message string) {
	class, ok := w.classes[classID(ref.Group, ref.Kind, ref.Name)]
	if !ok {
		return "NodeClassNotFound", fmt.Sprintf("%s %q does not exist", ref.Kind, ref.Name)
	}
	if class.GetDeletionTimestamp() != nil {
		return "NodeClassTerminating", fmt.Sprintf("%s %q is being deleted", ref.Kind, ref.Name)
	}
	ready := meta.FindStatusCondition(*class.ConditionList(), v1.ConditionTypeReady)
	switch {
	case ready == nil || ready.Status == metav1.ConditionUnknown:
		return "NodeClassReadinessUnknown", fmt.Sprintf("whether %s %q is ready is unknown", ref.Kind, ref.Name)
	case ready.Status == metav1.ConditionFalse:
		return ready.Reason, fmt.Sprintf("%s %q is not ready: %s: %s", ref.Kind, ref.Name, ready.Reason, ready.Message)
	}
	return "", ""
}
