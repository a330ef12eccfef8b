package translate_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

func TestTolerationsWithDifferentOperatorsDiffer(t *testing.T) {
	t.Attr("covers", "N491")
	translator := translate.NewWith(v1.CoreLabelRules(), translate.Settings{CompareTolerations: true})
	seen := map[any]corev1.TolerationOperator{}
	for _, operator := range []corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpLt, corev1.TolerationOpGt} {
		pod := &corev1.Pod{}
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: operator, Value: "1"}}
		shape := translator.Pod(pod).Shape
		if other, ok := seen[shape]; ok {
			t.Errorf("%s has the shape of %s", operator, other)
		}
		seen[shape] = operator
	}
}
