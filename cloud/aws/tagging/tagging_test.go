package tagging_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/instance"
	"github.com/karpenter-anew/karpenter/cloud/aws/tagging"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

// world is a controller with an account, and an API server in memory.
type world struct {
	*tagging.Controller
	t       *testing.T
	account *awstest.Account
	client  client.Client
	clock   *clocktesting.FakeClock
	// beforePatch is called before a claim is written; nil for none.
	beforePatch func()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))}
	w.account = awstest.New(awstest.Options{Clock: w.clock, Types: []string{"m5.large"}})
	w.client = apiserver.New().WithStatusSubresource(&v1.NodeClaim{}).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			if w.beforePatch != nil {
				w.beforePatch()
			}
			return c.Patch(ctx, o, patch, options...)
		},
	}).Build()
	w.Controller = tagging.New(tagging.Options{
		Instances: instance.NewClient(instance.Options{EC2: ec2.NewFromConfig(awstest.Connect(t, w.account)), Cluster: "test"}),
		Client:    w.client, Clock: w.clock, Cluster: "test",
		Manages: func(ref *v1.NodeClassReference) bool { return ref != nil && ref.Group == awsv1.Group },
	})
	return w
}

// add adds an instance with tags, and its claim. The instance is one of the cluster, unless the tags say whose it is.
func (w *world) add(name string, tags map[string]string, change func(*v1.NodeClaim)) (id string) {
	w.t.Helper()
	if _, ok := tags[awsv1.ClusterOwnedTag("test")]; !ok {
		owned := map[string]string{awsv1.ClusterOwnedTag("test"): awsv1.TagValueOwned}
		maps.Copy(owned, tags)
		tags = owned
	}
	id = w.account.AddInstance(awstest.Instance{Type: "m5.large", Zone: "us-east-1a"}, tags)
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	claim.Status.ProviderID, claim.Status.NodeName = instance.ProviderID("us-east-1a", id), "node-of-"+name
	if change != nil {
		change(claim)
	}
	if err := w.client.Create(w.t.Context(), claim); err != nil {
		w.t.Fatal(err)
	}
	return id
}

// remove deletes a claim.
func (w *world) remove(name string) {
	w.t.Helper()
	if err := w.client.Delete(w.t.Context(), &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		w.t.Fatal(err)
	}
}

// run reconciles a claim.
func (w *world) run(name string) (reconcile.Result, error) {
	return w.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
}

// recorded reports whether the claim records that its instance has its tags.
func (w *world) recorded(name string) bool {
	w.t.Helper()
	claim := &v1.NodeClaim{}
	if err := w.client.Get(w.t.Context(), types.NamespacedName{Name: name}, claim); err != nil {
		w.t.Fatal(err)
	}
	return claim.Annotations[awsv1.AnnotationTagged] == "true" && claim.Annotations[awsv1.AnnotationClusterNameTagged] == "true"
}

func TestWhatIsPassedOver(t *testing.T) {
	t.Attr("covers", "A345 N345")
	w := newWorld(t)
	for name, change := range map[string]func(*v1.NodeClaim){
		"no node":       func(c *v1.NodeClaim) { c.Status.NodeName = "" },
		"no id":         func(c *v1.NodeClaim) { c.Status.ProviderID = "kwok://somewhere" },
		"being deleted": func(c *v1.NodeClaim) { c.Finalizers = []string{v1.TerminationFinalizer} },
		"another cloud": func(c *v1.NodeClaim) { c.Spec.NodeClassRef.Group = "karpenter.kwok.sh" },
		"tagged already": func(c *v1.NodeClaim) {
			c.Annotations = map[string]string{awsv1.AnnotationTagged: "true", awsv1.AnnotationClusterNameTagged: "true"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w.add(name, nil, change)
			if name == "being deleted" {
				w.remove(name)
			}
			if result, err := w.run(name); err != nil || result.RequeueAfter != 0 || len(w.account.Calls("")) != 0 {
				t.Errorf("%+v, %v after %d calls", result, err, len(w.account.Calls("")))
			}
		})
	}
	t.Run("the claim is gone", func(t *testing.T) {
		if result, err := w.run("gone"); err != nil || result.RequeueAfter != 0 {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("the instance is gone", func(t *testing.T) {
		w.account.Vanish(w.add("a", nil, nil))
		if result, err := w.run("a"); err != nil || result.RequeueAfter != 0 || w.recorded("a") {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("the instance goes in between", func(t *testing.T) {
		w.add("b", nil, nil)
		w.account.Fail("CreateTags", "InvalidInstanceID.NotFound", "gone", 1)
		if result, err := w.run("b"); err != nil || result.RequeueAfter != 0 || w.recorded("b") {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("the claim goes in between", func(t *testing.T) {
		id := w.add("c", nil, nil)
		w.beforePatch = func() { w.remove("c") }
		if result, err := w.run("c"); err != nil || result.RequeueAfter != 0 || w.account.Tags(id)["Name"] != "node-of-c" {
			t.Errorf("%+v, %v, tags %v", result, err, w.account.Tags(id))
		}
	})
}

func TestOnlyMissingTagsAreWritten(t *testing.T) {
	t.Attr("covers", "A346")
	w := newWorld(t)
	keys := []string{"Name", "karpenter.sh/nodeclaim", "eks:eks-cluster-name"}
	for have := range 8 {
		name := fmt.Sprintf("claim-%d", have)
		all := map[string]string{"Name": "node-of-" + name, "karpenter.sh/nodeclaim": name, "eks:eks-cluster-name": "test"}
		tags, missing := map[string]string{"other": "x"}, map[string]string{}
		for bit, key := range keys {
			if have&(1<<bit) != 0 {
				tags[key] = map[bool]string{true: "test", false: "was there"}[key == awsv1.TagClusterName]
			} else {
				missing[key] = all[key]
			}
		}
		t.Run(fmt.Sprintf("%03b", have), func(t *testing.T) {
			id := w.add(name, tags, nil)
			want := w.account.Tags(id)
			w.account.Forget()
			for key, value := range missing {
				want[key] = value
			}
			if _, err := w.run(name); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, w.account.Tags(id)); diff != "" || !w.recorded(name) {
				t.Errorf("recorded: %t, tags (-want +got)\n%s", w.recorded(name), diff)
			}
			written := map[string]string{}
			for _, call := range w.account.Calls("CreateTags") {
				for n := 1; call.Parameters[fmt.Sprintf("Tag.%d.Key", n)] != ""; n++ {
					written[call.Parameters[fmt.Sprintf("Tag.%d.Key", n)]] = call.Parameters[fmt.Sprintf("Tag.%d.Value", n)]
				}
			}
			if diff := cmp.Diff(missing, written); diff != "" || len(missing) == 0 && len(w.account.Calls("CreateTags")) != 0 {
				t.Errorf("written (-want +got)\n%s", diff)
			}
		})
	}
}

// TestInstancesOfOthersAreNotTagged: with the tags of the cluster, they would be terminated as its own.
func TestInstancesOfOthersAreNotTagged(t *testing.T) {
	w := newWorld(t)
	for name, tags := range map[string]map[string]string{
		"untagged": {awsv1.ClusterOwnedTag("test"): ""}, "shared": {awsv1.ClusterOwnedTag("test"): "shared"}, "elsewhere": {awsv1.TagClusterName: "other"},
	} {
		id := w.add(name, tags, nil)
		before := w.account.Tags(id)
		if result, err := w.run(name); err != nil || result.RequeueAfter != 0 {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
		if diff := cmp.Diff(before, w.account.Tags(id)); diff != "" || w.recorded(name) {
			t.Errorf("%s: recorded: %t, tags (-before +after)\n%s", name, w.recorded(name), diff)
		}
	}
}

// TestCallsTakeTurns checks that calls respect the rate limit, in order, and that no worker waits.
func TestCallsTakeTurns(t *testing.T) {
	w := newWorld(t)
	due := map[string]time.Time{}
	const claims, burst = 60, 50
	start := w.clock.Now()
	for n := range claims {
		name := fmt.Sprintf("claim-%02d", n)
		w.add(name, nil, nil)
		due[name] = start
	}
	for range 20 {
		var mu sync.Mutex
		var all sync.WaitGroup
		for name, at := range maps.Clone(due) {
			if at.After(w.clock.Now()) {
				continue
			}
			all.Go(func() {
				result, err := w.run(name)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if due[name] = w.clock.Now().Add(result.RequeueAfter); result.RequeueAfter == 0 {
					delete(due, name)
				}
			})
		}
		all.Wait()
		made := len(w.account.Calls("CreateTags"))
		if most := burst + 5*int(w.clock.Since(start)/time.Second) + 5; made < burst || made > most {
			t.Errorf("%d calls after %s", made, w.clock.Since(start))
		}
		if len(due) == 0 {
			break
		}
		w.clock.Step(200 * time.Millisecond)
	}
	if took := w.clock.Since(start); len(due) != 0 || took != 2*time.Second {
		t.Errorf("%d instances without tags after %s", len(due), took)
	}
}

func TestThrottlingIsReportedAndRetried(t *testing.T) {
	w := newWorld(t)
	id := w.add("a", nil, nil)
	w.account.Fail("CreateTags", awstest.Throttled, "slow down", -1)
	if _, err := w.run("a"); err == nil || !strings.Contains(err.Error(), `nodeclaim "a"`) || w.recorded("a") {
		t.Errorf("got %v", err)
	}
	w.account.Recover("CreateTags")
	if _, err := w.run("a"); err != nil || w.account.Tags(id)["Name"] != "node-of-a" {
		t.Errorf("%v, tags %v", err, w.account.Tags(id))
	}
}
