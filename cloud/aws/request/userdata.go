package request

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubelet"
	"github.com/karpenter-anew/karpenter/cloud/aws/userdata"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const (
	// userDataLimit is how many bytes of user data EC2 takes, before they are encoded; userDataMuch is where users are warned.
	userDataLimit = 16384
	userDataMuch  = userDataLimit * 9 / 10
)

// sizes are the sizes of user data by class, and the settings in it that reach no node. The zero value is ready.
type sizes struct {
	mu      sync.Mutex
	byClass map[string]int
	dropped map[string]string
}

// dropped logs the user's settings that are left out of user data, once until they are others.
func (b *Builder) dropped(ctx context.Context, class string, settings []string) {
	text := strings.Join(settings, ",")
	b.sizes.mu.Lock()
	defer b.sizes.mu.Unlock()
	if b.sizes.dropped == nil {
		b.sizes.dropped = map[string]string{}
	}
	if b.sizes.dropped[class] == text {
		return
	}
	if b.sizes.dropped[class] = text; text != "" {
		observe.Log(ctx).ErrorContext(ctx, "unknown Kubernetes settings in user data are ignored", awsfield.EC2NodeClass(class), awsfield.Settings(settings))
	}
}

// Measure shows how large the user data of a launch is, and warns when it comes near the limit.
func (b *Builder) Measure(ctx context.Context, class string, templates []*ec2.CreateLaunchTemplateInput) {
	size := 0
	for _, t := range templates {
		text, err := base64.StdEncoding.DecodeString(aws.ToString(t.LaunchTemplateData.UserData))
		if err != nil {
			continue // it was encoded here
		}
		size = max(size, len(text))
	}
	b.sizes.mu.Lock()
	defer b.sizes.mu.Unlock()
	if b.sizes.byClass == nil {
		b.sizes.byClass = map[string]int{}
	}
	if have, ok := b.sizes.byClass[class]; ok && have == size {
		return
	}
	b.sizes.byClass[class] = size
	b.Metrics.UserDataBytes.WithLabelValues(class).Set(float64(size))
	if size >= userDataMuch {
		observe.Log(ctx).WarnContext(ctx, "user data is close to the limit of EC2", awsfield.EC2NodeClass(class), awsfield.Size(size), awsfield.Threshold(userDataMuch), logfield.Limit(userDataLimit))
	}
}

// ForgetClass drops the cached data of a deleted class.
func (b *Builder) ForgetClass(name string) {
	b.sizes.mu.Lock()
	defer b.sizes.mu.Unlock()
	delete(b.sizes.byClass, name)
	delete(b.sizes.dropped, name)
	b.Metrics.UserDataBytes.DeleteLabelValues(name)
}

// userData renders the user data of an instance.
func (b *Builder) userData(ctx context.Context, claim *v1.NodeClaim, class *awsv1.EC2NodeClass, capacityType string, m templateKey) (string, error) {
	config, err := kubelet.Parse(class.Spec.Kubelet)
	if err != nil {
		return "", err
	}
	config = config.Static()
	if m.reserved != "" {
		if err := json.Unmarshal([]byte(m.reserved), &config); err != nil {
			return "", fmt.Errorf("reading what is kept from pods: %w", err)
		}
	}
	facts := b.Cluster.Facts()
	labels := maps.Clone(claim.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	for _, r := range claim.Spec.Requirements {
		if _, ok := labels[r.Key]; !ok && r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
			labels[r.Key] = r.Values[0]
		}
	}
	in := userdata.Input{
		Family: class.Family(), ClusterName: b.Cluster.Name, Endpoint: facts.Endpoint, CABundle: facts.CABundle, ClusterCIDR: facts.ServiceCIDR,
		ClusterDNS: config.ClusterDNS, MaxPods: &m.pods, Kubelet: config, KubeletBlock: class.Spec.Kubelet,
		Labels: userdata.NodeLabels(labels, capacityType, class.Family()), Taints: userdata.NodeTaints(claim.Spec.Taints, claim.Spec.StartupTaints),
		RAID0:  class.Spec.InstanceStorePolicy != nil && *class.Spec.InstanceStorePolicy == awsv1.InstanceStorePolicyRAID0,
		Custom: aws.ToString(class.Spec.UserData), BottlerocketVersion: userdata.BottlerocketVersion(class),
	}
	if len(in.ClusterDNS) == 0 && facts.DNS != "" {
		in.ClusterDNS = []string{facts.DNS}
	}
	result, err := userdata.Render(in)
	if err == nil {
		b.dropped(ctx, class.Name, result.Dropped)
	}
	return result.Text, err
}
