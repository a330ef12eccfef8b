package aksmachine

import "github.com/karpenter-anew/karpenter/cloud/azure/nodeprofile"

// Body is the body of a request that creates an AKSMachine.
type Body struct {
	Zones      []string   `json:"zones"`
	Properties Properties `json:"properties"`
}

// Properties are the properties of an AKSMachine.
type Properties struct {
	Mode             string                `json:"mode"`
	NodeImageVersion string                `json:"nodeImageVersion"`
	Network          *Network              `json:"network,omitempty"`
	Hardware         Hardware              `json:"hardware"`
	OperatingSystem  OperatingSystem       `json:"operatingSystem"`
	Kubernetes       Kubernetes            `json:"kubernetes"`
	Priority         string                `json:"priority"`
	Security         Security              `json:"security"`
	Tags             map[string]string     `json:"tags,omitempty"`
	LocalDNSProfile  *nodeprofile.LocalDNS `json:"localDNSProfile,omitempty"`
}

// Network is absent for the subnet of the agent pool.
type Network struct {
	VNetSubnetID string `json:"vnetSubnetID"`
}

// Hardware is the size of the virtual machine.
type Hardware struct {
	VMSize          string      `json:"vmSize"`
	UltraSSDEnabled bool        `json:"ultraSsdEnabled"`
	GPUProfile      *GPUProfile `json:"gpuProfile,omitempty"`
}

// GPUProfile says whether AKS installs the driver of GPUs: Install or None.
type GPUProfile struct {
	Driver string `json:"driver"`
}

// OperatingSystem is the operating system with its disk.
type OperatingSystem struct {
	OSType       string        `json:"osType"`
	OSSKU        string        `json:"osSKU"`
	OSDiskSizeGB int32         `json:"osDiskSizeGB"`
	OSDiskType   string        `json:"osDiskType"`
	EnableFIPS   bool          `json:"enableFIPS"`
	LinuxProfile *LinuxProfile `json:"linuxProfile,omitempty"`
}

// LinuxProfile holds the configuration of Linux.
type LinuxProfile struct {
	LinuxOSConfig *nodeprofile.LinuxOS `json:"linuxOSConfig"`
}

// Kubernetes is what concerns the node.
type Kubernetes struct {
	OrchestratorVersion      string            `json:"orchestratorVersion"`
	NodeLabels               map[string]string `json:"nodeLabels,omitempty"`
	NodeInitializationTaints []string          `json:"nodeInitializationTaints"`
	// NodeTaints is always empty: AKS resets these taints whenever they change on the node.
	NodeTaints               []string                  `json:"nodeTaints"`
	MaxPods                  *int32                    `json:"maxPods,omitempty"`
	KubeletConfig            *nodeprofile.Kubelet      `json:"kubeletConfig,omitempty"`
	ArtifactStreamingProfile *ArtifactStreamingProfile `json:"artifactStreamingProfile,omitempty"`
}

// ArtifactStreamingProfile says that images of containers are streamed.
type ArtifactStreamingProfile struct {
	Enabled bool `json:"enabled"`
}

// Security is the security of the virtual machine.
type Security struct {
	SSHAccess              string `json:"sshAccess"`
	EnableEncryptionAtHost bool   `json:"enableEncryptionAtHost"`
	EnableVTPM             bool   `json:"enableVTPM"`
	EnableSecureBoot       bool   `json:"enableSecureBoot"`
}
