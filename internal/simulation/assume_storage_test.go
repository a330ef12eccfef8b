package simulation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestStorageClassesAreAssumedOnlyWhereNoneIsDescribed(t *testing.T) {
	claim := func(class *string, volume string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: class, VolumeName: volume}}
	}
	fast, none, old := "fast", "", "old"
	nameless := claim(nil, "")
	claims := []client.Object{claim(&fast, ""), claim(&fast, ""), claim(&none, ""), claim(&old, "bound"), nameless}
	objects, assumed := AssumeStorageClasses(claims)
	if diff := cmp.Diff([]AssumedClass{{"StorageClass", "default"}, {"StorageClass", "fast"}}, assumed); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(objects) != len(claims)+2 {
		t.Errorf("%d objects, want two more than %d", len(objects), len(claims))
	}
	if got := objects[4].(*corev1.PersistentVolumeClaim).Spec.StorageClassName; got == nil || *got != "default" || nameless.Spec.StorageClassName != nil {
		t.Errorf("the claim without a class is now of %v, and what was passed in of %v", got, nameless.Spec.StorageClassName)
	}
	described := append(claims, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "slow"}})
	if objects, assumed := AssumeStorageClasses(described); len(assumed) != 0 || len(objects) != len(described) {
		t.Errorf("assumed %v beside a class that is described", assumed)
	}
}
