package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/test/awscluster"
)

// event is the text of an event about an instance.
func event(source, kind string, detail map[string]any) *string {
	text, err := json.Marshal(map[string]any{
		"version": "0", "account": awstest.AccountID, "region": "us-east-1", "source": source, "detail-type": kind, "time": time.Now().UTC().Format(time.RFC3339), "detail": detail,
	})
	if err != nil {
		panic(err) // it can be encoded
	}
	out := string(text)
	return &out
}

// interruptions are all kinds of interruptions, by name.
func interruptions(a *awscluster.AWS) map[string]func(id string) {
	send := func(source, kind string, detail func(id string) map[string]any) func(id string) {
		return func(id string) { a.Account.Send(awsCluster, event(source, kind, detail(id))) }
	}
	state := func(name string) func(id string) {
		return send("aws.ec2", "EC2 Instance State-change Notification", func(id string) map[string]any {
			return map[string]any{"instance-id": id, "state": name}
		})
	}
	return map[string]func(id string){
		"spot": func(id string) { a.Account.Interrupt(id) },
		"reservation": send("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning", func(id string) map[string]any {
			return map[string]any{"instance-id": id, "instance-action": "terminate"}
		}),
		"stopping": state("stopping"), "stopped": state("stopped"), "shutting-down": state("shutting-down"), "terminated": state("terminated"),
		"health": send("aws.health", "AWS Health Event", func(id string) map[string]any {
			return map[string]any{"service": "EC2", "eventTypeCategory": "scheduledChange", "affectedEntities": []any{map[string]any{"entityValue": id}}}
		}),
		"check-of-instance": func(id string) {
			a.Account.Change(id, func(i *awstest.Instance) { i.InstanceFailed = time.Now().Add(-time.Hour) })
		},
		"check-of-host": func(id string) {
			a.Account.Change(id, func(i *awstest.Instance) { i.SystemFailed = time.Now().Add(-time.Hour) })
		},
		"retirement": func(id string) {
			a.Account.Change(id, func(i *awstest.Instance) {
				i.Events = []awstest.ScheduledEvent{{Code: "instance-retirement", Description: "The instance is running on degraded hardware"}}
			})
		},
		"without-a-word": func(id string) { a.Account.Change(id, func(i *awstest.Instance) { i.State = "terminated" }) },
	}
}

// TestAWSInterruptionsReplaceNodes: for every event or action of EC2 on an instance, its pods run elsewhere soon and its node and its
// claim are deleted; also if it is terminated without a message.
func TestAWSInterruptionsReplaceNodes(t *testing.T) {
	t.Attr("covers", "A372 A380")
	t.Parallel()
	w := begin(t)
	a := w.account("m5.large")
	first := w.controller(a.Flags()...)
	cases := interruptions(a)
	pods, old := map[string]int32{}, map[string]ec2Node{}
	for name := range cases {
		pool := awsPool(name, []string{"m5.large"})
		if name == "spot" {
			pool.Spec.Template.Spec.Requirements[1] = in(v1.CapacityTypeLabelKey, "spot")
		}
		w.create(awsClass(name), pool, awsPods(name, 1))
		pods[name] = 1
	}
	w.awaitCases(pods)
	for name, happens := range cases {
		w.await("the node of "+name+" is as expected", patience, func() string {
			nodes := w.nodesOf(a, name)
			if len(nodes) != 1 {
				return fmt.Sprintf("%d nodes", len(nodes))
			}
			old[name] = nodes[0]
			return ""
		})
		happens(old[name].instance.ID)
	}
	// The controller polls the health of instances once a minute, and at startup.
	w.must(first.Kill())
	w.controller(a.Flags()...)
	w.await("every node is replaced", awsPatience, func() string {
		for name, before := range old {
			if obstacle := w.replaced(a, name, &before); obstacle != "" {
				return name + ": " + obstacle
			}
		}
		return ""
	})
	w.awaitCases(pods)
	// What the first controller had received and not answered when it was killed shows itself again after a while.
	w.await("every message is answered", awsPatience, func() string {
		if left := a.Account.Messages(awsCluster); len(left) > 0 {
			return fmt.Sprintf("messages are left in the queue: %q", left)
		}
		return ""
	})
}

// TestAWSPermissions: a class is not ready while its launches are denied, and ready afterwards; when it is deleted, none of its resources
// remain in the account.
func TestAWSPermissions(t *testing.T) {
	t.Attr("covers", "A363 A364")
	t.Parallel()
	w := begin(t)
	a := w.account("m5.large")
	w.controller(a.Flags()...)
	for _, operation := range []string{"CreateFleet", "CreateLaunchTemplate", "RunInstances"} {
		a.Account.Fail(operation, "UnauthorizedOperation", "You are not authorized to perform this operation.", -1)
		class := awsClass("without-" + strings.ToLower(operation))
		w.create(class)
		w.await("the class is not ready without "+operation, patience, func() string {
			if w.get(class); condition.Status(class, awsv1.ConditionTypeValidationSucceeded) == metav1.ConditionFalse && w.notReady(class) != "" {
				return ""
			}
			return conditions(class)
		})
		a.Account.Recover(operation)
		w.await("the class is ready with "+operation, awsPatience, func() string { return w.notReady(class) })
	}
	const name = "whole"
	class, d := awsClass(name), awsPods(name, 1)
	p := awsPool(name, []string{"m5.large"})
	w.create(class, p, d)
	w.awaitCases(map[string]int32{name: 1})
	if len(a.Account.LaunchTemplates()) == 0 || len(a.Account.Profiles()) == 0 {
		t.Error("a node is there without launch template or profile")
	}
	w.delete(d)
	w.delete(p)
	w.await("no node is left", awsPatience, func() string {
		if n := len(w.nodes()) + len(w.claims()); n > 0 {
			return fmt.Sprint(n, " nodes and claims")
		}
		return ""
	})
	var all awsv1.EC2NodeClassList
	w.list(&all)
	for i := range all.Items {
		w.delete(&all.Items[i])
	}
	w.await("no class, launch template and profile is left", awsPatience, func() string {
		w.list(&all)
		templates, profiles := a.Account.LaunchTemplates(), a.Account.Profiles()
		if len(all.Items)+len(templates)+len(profiles) > 0 {
			return fmt.Sprintf("%d classes, %d launch templates, %d profiles", len(all.Items), len(templates), len(profiles))
		}
		return ""
	})
}
