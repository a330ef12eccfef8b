package demo

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// refused is what the controller logs for pods that fit nowhere.
const refused = "could not schedule pod(s)"

// gangScene shows a gang that gets all of its nodes at once, one that a limit of the NodePool stops and that gets none, and the same one after
// the limit was raised.
func gangScene() Scene {
	// Each pod fills a node of two cores. Three of the pods of the second gang would fit below the limit.
	const first, second, limit, raised = 8, 6, "22", "32"
	return Scene{
		Name:  "gang",
		Lines: []string{"computed new nodeclaim(s) to fit pod(s)", refused},
		Gates: []string{"GenericWorkload=true"},
		APIs:  []string{"scheduling.k8s.io/v1beta1=true"},
		Perform: func(p *Play) (fmt.Stringer, error) {
			if err := p.Pool(cores("2"), Set(limit, "spec", "limits", "cpu")); err != nil {
				return nil, err
			}
			sinceThen := stopwatch()
			if err := p.gang("first", first); err != nil {
				return nil, err
			}
			_, err := p.Await(fmt.Sprintf("all %d pods of the first gang run", first), func(c Counts) (bool, error) {
				return c.Running == first && c.Claims == first && c.Nodes == first && c.Initialized == first, nil
			})
			if err != nil {
				return nil, err
			}
			took := sinceThen()
			if err := p.gang("second", second); err != nil {
				return nil, err
			}
			p.Show.Line(fmt.Sprintf("the second gang needs %d pods at once; the NodePool is limited to %s CPUs, which 3 of them would fit", second, limit))
			if err := p.awaitRefusal("second", second, first); err != nil {
				return nil, err
			}
			if err := p.EditPool(cores("2"), Set(raised, "spec", "limits", "cpu")); err != nil {
				return nil, err
			}
			sinceThen = stopwatch()
			p.Show.Line(fmt.Sprintf("the limit is %s CPUs now", raised))
			_, err = p.Await("all pods of both gangs run", func(c Counts) (bool, error) {
				return c.Running == first+second && c.Claims == first+second && c.Nodes == c.Claims && c.Initialized == c.Claims, nil
			})
			if err != nil {
				return nil, err
			}
			return FigureLine(fmt.Sprintf("gang: %d pods from no node to running in %.1f s; %d pods beyond a limit got no node, and ran %.1f s after it was raised",
				first, took.Seconds(), second, sinceThen().Seconds())), nil
		},
	}
}

// gang creates a PodGroup that needs all of its pods, and these pods.
func (p *Play) gang(name string, pods int) error {
	group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: int32(pods)}
	if err := p.Client.Create(p.Ctx, group); err != nil {
		return fmt.Errorf("creating the PodGroup %s: %w", name, err)
	}
	return Apply(p.Ctx, p.Client, p.Settings.Manifests, "inflate.yaml", func(o *unstructured.Unstructured) error {
		o.SetName(name)
		template := []string{"spec", "template"}
		for _, edit := range []Edit{
			Set(int64(pods), "spec", "replicas"),
			Set(name, "spec", "selector", "matchLabels", "gang"),
			Set(name, append(template, "metadata", "labels", "gang")...),
			Set(name, append(template, "spec", "schedulingGroup", "podGroupName")...),
		} {
			if err := unstructured.SetNestedField(o.Object, edit.value, edit.path...); err != nil {
				return fmt.Errorf("describing the pods of %s: %w", name, err)
			}
		}
		return nil
	})
}

// restless is for how long no node may appear for a gang that was refused.
const restless = 5 * time.Second

// awaitRefusal waits until the controller refused each pod of a gang, and fails if a node is launched for it.
func (p *Play) awaitRefusal(gang string, pods, claims int) error {
	var since func() time.Duration
	_, err := p.Await(fmt.Sprintf("the second gang got no node in %s", restless), func(c Counts) (bool, error) {
		if c.Claims != claims {
			return false, fmt.Errorf("%w: there are %d NodeClaims for %d pods that fit, and for a gang that does not", ErrBroken, c.Claims, claims)
		}
		told, err := p.refusals(gang)
		if err != nil || told < pods || p.Logged.Count(refused) == 0 {
			return false, err
		}
		if since == nil {
			since = stopwatch()
		}
		return since() >= restless, nil
	})
	return err
}

// refusals counts the pods of a gang that have an event with the reason why they were not placed.
func (p *Play) refusals(gang string) (int, error) {
	var pods corev1.PodList
	if err := p.Client.List(p.Ctx, &pods, client.InNamespace("default"), client.MatchingLabels{"gang": gang}); err != nil {
		return 0, fmt.Errorf("listing pods: %w", err)
	}
	var events corev1.EventList
	if err := p.Client.List(p.Ctx, &events, client.InNamespace("default")); err != nil {
		return 0, fmt.Errorf("listing events: %w", err)
	}
	told := 0
	for i := range pods.Items {
		for j := range events.Items {
			if e := &events.Items[j]; e.InvolvedObject.UID == pods.Items[i].UID && e.Source.Component == "karpenter" && e.Reason == "FailedScheduling" {
				told++
				break
			}
		}
	}
	return told, nil
}
