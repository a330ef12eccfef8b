package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// shown bounds each list of a failure report.
const shown = 5

// Describe describes why a scene did not go on: pending pods with their events, and NodeClaims with their conditions.
func Describe(ctx context.Context, c client.Client) string {
	var text strings.Builder
	describePods(ctx, c, &text)
	describeClaims(ctx, c, &text)
	return text.String()
}

func describePods(ctx context.Context, c client.Client, text *strings.Builder) {
	var pods corev1.PodList
	var events corev1.EventList
	if err := c.List(ctx, &pods, client.InNamespace("default")); err != nil {
		fmt.Fprintf(text, "listing pods: %v\n", err)
		return
	}
	if err := c.List(ctx, &events, client.InNamespace("default")); err != nil {
		fmt.Fprintf(text, "listing events: %v\n", err)
	}
	waiting := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
		return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil
	})
	for i := range waiting[:min(len(waiting), shown)] {
		pod := &waiting[i]
		fmt.Fprintf(text, "pod %s is %s on node %q, deleted: %t\n", pod.Name, pod.Status.Phase, pod.Spec.NodeName, pod.DeletionTimestamp != nil)
		for j := range events.Items {
			if event := &events.Items[j]; event.InvolvedObject.UID == pod.UID {
				fmt.Fprintf(text, "    %s %s: %s\n", event.Type, event.Reason, event.Message)
			}
		}
	}
	if more := len(waiting) - shown; more > 0 {
		fmt.Fprintf(text, "and %d more pods\n", more)
	}
}

func describeClaims(ctx context.Context, c client.Client, text *strings.Builder) {
	var claims v1.NodeClaimList
	if err := c.List(ctx, &claims); err != nil {
		fmt.Fprintf(text, "listing nodeclaims: %v\n", err)
		return
	}
	for i := range claims.Items[:min(len(claims.Items), shown)] {
		claim := &claims.Items[i]
		fmt.Fprintf(text, "nodeclaim %s on node %q, deleted: %t; %s\n", claim.Name, claim.Status.NodeName, claim.DeletionTimestamp != nil,
			conditions(claim.Status.Conditions))
	}
	if more := len(claims.Items) - shown; more > 0 {
		fmt.Fprintf(text, "and %d more nodeclaims\n", more)
	}
}

// conditions renders conditions in one line.
func conditions(list []metav1.Condition) string {
	if len(list) == 0 {
		return "no conditions"
	}
	parts := make([]string, 0, len(list))
	for _, condition := range list {
		part := condition.Type + "=" + string(condition.Status)
		if condition.Status != metav1.ConditionTrue {
			part += " (" + strings.TrimSpace(condition.Reason+" "+condition.Message) + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
