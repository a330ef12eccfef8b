package observe

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ConditionChanged reports that the status of a condition changed; its reason is the type of the condition. It is never deduplicated.
func ConditionChanged(object runtime.Object, before metav1.ConditionStatus, now metav1.Condition) Event {
	message := fmt.Sprintf("Status condition transitioned, Type: %s, Status: %s -> %s, Reason: %s", now.Type, before, now.Status, now.Reason)
	if now.Message != "" {
		message += ", Message: " + now.Message
	}
	return NormalEvent(object, now.Type, message)
}

// Finalized reports that a finalizer of a deleted object has been removed. It is never deduplicated.
func Finalized(object runtime.Object, finalizer string) Event {
	return NormalEvent(object, "Finalized", "Finalized "+finalizer)
}
