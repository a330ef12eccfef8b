package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/test/awscluster"
	"github.com/karpenter-anew/karpenter/test/simcluster"
)

// The clouds. Nodes take a second to register in each, so that there is something to interrupt.
const (
	cloudKwok = "kwok"
	cloudAWS  = "aws"
	bootTime  = time.Second
)

// cloudSetup is what a run needs to know about its cloud.
type cloudSetup struct {
	// flags and environment are those of the controller.
	flags, environment []string
	class              client.Object
	classRef           *v1.NodeClassReference
	// sizes restricts instance types to those of two cores and of four, where four cost twice as much.
	sizes v1.NodeSelectorRequirementWithMinValues
	// instances are the provider IDs of the instances that run; nil if nodes are all there is.
	instances func() []string
	// launched is when an instance was launched, by its provider ID; zero if there is no such instance, and nil if nodes are all there is.
	launched func(providerID string) time.Time
	// refusal is why an instance has not joined; nil if it has, and as a function if nodes are all there is.
	refusal func(instance string) error
	stop    func() error
}

// definitionsOf are the CRDs with a cloud.
func definitionsOf(cloud string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	if cloud == cloudAWS {
		return awscrds.Definitions()
	}
	return kwokcrds.Definitions()
}

// newCloud prepares a cloud beside a cluster.
func newCloud(ctx context.Context, cloud string, plane *simcluster.Cluster) (*cloudSetup, error) {
	if cloud == cloudAWS {
		return newAWS(ctx, plane)
	}
	class := &v1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	class.Spec.NodeRegistrationDelay = &metav1.Duration{Duration: bootTime}
	return &cloudSetup{
		flags: []string{"--cloud-provider=kwok"}, class: class,
		classRef: &v1.NodeClassReference{Group: v1alpha1.Group, Kind: "KWOKNodeClass", Name: "default"},
		sizes:    in(coresLabel, "2", "4"), stop: func() error { return nil },
	}, nil
}

func newAWS(ctx context.Context, plane *simcluster.Cluster) (*cloudSetup, error) {
	types := []string{"m5.large", "m5.xlarge"}
	a, err := awscluster.Start(ctx, plane.Kubeconfig, plane.Client, awscluster.Options{
		Cluster: "test", Types: append(types, "m5.metal"), Boot: bootTime, Shutdown: bootTime,
	})
	if err != nil {
		return nil, err
	}
	discovery := map[string]string{"karpenter.sh/discovery": "test"}
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: awsv1.EC2NodeClassSpec{
		SubnetSelectorTerms: []awsv1.SubnetSelectorTerm{{Tags: discovery}}, SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Tags: discovery}},
		AMISelectorTerms: []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}, Role: awstest.Role,
	}}
	return &cloudSetup{
		// Nodes do not join through the proxy, and its kubeconfig has no authority.
		flags: append(a.Flags(), "--cluster-endpoint="+plane.Config.Host,
			"--cluster-ca-bundle="+base64.StdEncoding.EncodeToString(plane.Config.CAData)),
		environment: a.Environment(), class: class,
		classRef: &v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"},
		sizes:    in(corev1.LabelInstanceTypeStable, types...), stop: a.Stop,
		instances: func() (running []string) {
			for _, i := range a.Account.Instances() {
				if i.State == "running" || i.State == "pending" {
					running = append(running, i.ID)
				}
			}
			return running
		},
		launched: func(providerID string) (at time.Time) {
			for _, i := range a.Account.Instances() {
				if strings.HasSuffix(providerID, "/"+i.ID) {
					at = i.Launched
				}
			}
			return at
		},
		refusal: a.Joiner.Refusal,
	}, nil
}

// unrest lists the instances that run without a claim.
func (s *cloudSetup) unrest(now clusterState) []string {
	if s.instances == nil {
		return nil
	}
	var out []string
	for _, id := range s.instances() {
		if !now.claimed(id) {
			out = append(out, fmt.Sprintf("instance %s runs without a nodeclaim", id))
		}
		if err := s.refusal(id); err != nil {
			out = append(out, fmt.Sprintf("instance %s does not join: %v", id, err))
		}
	}
	return out
}
