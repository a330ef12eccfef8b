package instancetype

import (
	"fmt"

	"github.com/karpenter-anew/karpenter/cloud/aws/kubelet"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubeletcel"
)

// ResolveKubelet returns the kubelet block for the type, with all expressions evaluated: the number of pods first, then the reserved
// resources, which may depend on it. The result belongs into the class of the input before Resolve, and into the user data of instances
// of the type, so that nodes match the plan. Reserved resources that cannot be computed are omitted and returned as errors.
func ResolveKubelet(in Input, compiled *kubeletcel.Compiled) (kubelet.Config, []error, error) {
	variables := kubeletcel.Variables{
		VCPUs: in.Description.VCPUs, MemoryMiB: in.Description.MemoryMiB, InstanceType: in.Description.Name,
		DefaultENIs: in.Description.Network.defaultInterfaces(), IPsPerENI: in.Description.Network.ipv4PerInterface(),
	}
	// The pod limit without a kubelet block.
	in.Class.Kubelet.MaxPods = nil
	variables.MaxPods = in.pods()
	config, err := compiled.Pods(variables)
	if err != nil {
		return kubelet.Config{}, nil, fmt.Errorf("resolving instance type %s, %w", in.Description.Name, err)
	}
	in.Class.Kubelet.MaxPods = config.MaxPods
	variables.MaxPods = in.pods()
	var dropped []error
	config.KubeReserved, config.SystemReserved, dropped = compiled.Reserved(variables)
	return config, dropped, nil
}
