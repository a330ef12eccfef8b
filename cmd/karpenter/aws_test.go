package main

import (
	"context"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

// TestAWS follows a claim from a node class to an instance: the built program, a real API server, and the real SDK against the AWS test
// server.
func TestAWS(t *testing.T) {
	_, environment, kubeconfig := startServer(t)
	definitions, err := awscrds.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(environment.Config, envtest.CRDInstallOptions{CRDs: definitions}); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, awsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.NewWithWatch(environment.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	account := awstest.New(awstest.Options{Types: []string{"m5.large", "c5.large", "m5.metal"}, Version: "1.37"})
	account.AddQueue("interruptions")
	server := httptest.NewServer(account)
	t.Cleanup(server.Close)
	p := launchIn(t, []string{
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret", "AWS_ENDPOINT_URL=" + server.URL,
	}, "karpenter", "controller", "--kubeconfig="+kubeconfig, "--metrics-port=0", "--health-probe-port=0", "--disable-leader-election",
		"--cloud-provider=aws", "--cluster-name=test", "--interruption-queue=interruptions")
	p.becomesReady(30 * time.Second)
	discovery := map[string]string{"karpenter.sh/discovery": "test"}
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: awsv1.EC2NodeClassSpec{
		SubnetSelectorTerms: []awsv1.SubnetSelectorTerm{{Tags: discovery}}, SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Tags: discovery}},
		AMISelectorTerms: []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}, Role: awstest.Role,
	}}
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}}
	claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	claim.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{Key: "karpenter.sh/capacity-type", Operator: "In", Values: []string{"spot"}}}
	for _, o := range []client.Object{class, claim} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	p.says(`launched nodeclaim.*by-hand`, 60*time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	claims, err := c.Watch(ctx, &v1.NodeClaimList{})
	if err != nil {
		t.Fatal(err)
	}
	defer claims.Stop()
	for event := range claims.ResultChan() {
		// The log may be ahead of the API objects.
		if seen, ok := event.Object.(*v1.NodeClaim); ok && seen.Status.ProviderID != "" {
			claim = seen
			break
		}
	}
	instances := account.Instances()
	if len(instances) != 1 || !instances[0].Spot || !strings.HasSuffix(claim.Status.ProviderID, instances[0].ID) {
		t.Fatalf("claim %q, instances %+v", claim.Status.ProviderID, instances)
	}
	if tags := account.Tags(instances[0].ID); tags["eks:eks-cluster-name"] != "test" {
		t.Errorf("tags %v", tags)
	}
	if !account.Interrupt(instances[0].ID) {
		t.Fatal("the instance cannot be interrupted")
	}
	p.says(`deleted nodeclaim because of an interruption.*spot_interrupted.*by-hand`, 60*time.Second)
	p.signal(syscall.SIGTERM)
	p.ends(0, 20*time.Second)
	if strings.Contains(p.output(), "panic") {
		t.Error("something panicked")
	}
}
