package nodeclass_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
)

func TestTheSizeOfUserDataGoesWithTheClass(t *testing.T) {
	t.Attr("covers", "A310")
	w := newWorld(t)
	w.add(nil)
	w.expect(awsv1.ConditionTypeReady, "True")
	if n := testutil.CollectAndCount(w.provider.Metrics.UserDataBytes); n != 1 {
		t.Errorf("%d sizes after the trial of a class", n)
	}
	if err := w.client.Delete(t.Context(), w.class()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.controller.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "default"}}); err != nil {
		t.Fatal(err)
	}
	if n := testutil.CollectAndCount(w.provider.Metrics.UserDataBytes); n != 0 {
		t.Errorf("%d sizes without a class", n)
	}
}
