package v1

import "k8s.io/apimachinery/pkg/api/resource"

// InstanceStorePolicy says what becomes of disks that are built into the host.
type InstanceStorePolicy string

// InstanceStorePolicyRAID0 joins the disks and keeps the files of kubelet and containerd there.
const InstanceStorePolicyRAID0 InstanceStorePolicy = "RAID0"

// BlockDeviceMapping is one disk.
type BlockDeviceMapping struct {
	// deviceName is the name under which the disk appears.
	// +optional
	DeviceName *string `json:"deviceName,omitempty"`
	// ebs describes the volume.
	// +kubebuilder:validation:XValidation:message="snapshotID or volumeSize must be defined",rule="has(self.snapshotID) || has(self.volumeSize)"
	// +kubebuilder:validation:XValidation:message="snapshotID must be set when volumeInitializationRate is set",rule="!has(self.volumeInitializationRate) || (has(self.snapshotID) && self.snapshotID != '')"
	// +optional
	EBS *BlockDevice `json:"ebs,omitempty"`
	// rootVolume marks the disk that holds the kubelet's files. At most one disk is marked.
	// +optional
	RootVolume bool `json:"rootVolume,omitempty"`
}

// BlockDevice is an EBS volume.
type BlockDevice struct {
	// deleteOnTermination says whether the volume goes with the instance.
	// +optional
	DeleteOnTermination *bool `json:"deleteOnTermination,omitempty"`
	// encrypted says whether the volume is encrypted.
	// +optional
	Encrypted *bool `json:"encrypted,omitempty"`
	// iops is the number of I/O operations per second.
	// +optional
	IOPS *int64 `json:"iops,omitempty"`
	// kmsKeyID is the id, the ARN, the alias or the ARN of the alias of the key for encryption.
	// +optional
	KMSKeyID *string `json:"kmsKeyID,omitempty"`
	// snapshotID is the snapshot that the volume starts with.
	// +optional
	SnapshotID *string `json:"snapshotID,omitempty"`
	// throughput is in MiB per second.
	// +optional
	Throughput *int64 `json:"throughput,omitempty"`
	// volumeInitializationRate is the rate, in MiB per second, at which the snapshot is fetched.
	// +kubebuilder:validation:Minimum:=100
	// +kubebuilder:validation:Maximum:=300
	// +optional
	VolumeInitializationRate *int32 `json:"volumeInitializationRate,omitempty"`
	// volumeSize is the size, in Gi, G, Ti or T, from 1 to what EC2 allows.
	// +kubebuilder:validation:Pattern:=`^((?:[1-9][0-9]{0,3}|[1-4][0-9]{4}|[5][0-8][0-9]{3}|59000)Gi|(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|[6][0-3][0-9]{3}|64000)G|([1-9]|[1-5][0-7]|58)Ti|([1-9]|[1-5][0-9]|6[0-3]|64)T)$`
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type:="string"
	// +optional
	VolumeSize *resource.Quantity `json:"volumeSize,omitempty" hash:"string"`
	// volumeType is the kind of volume.
	// +kubebuilder:validation:Enum:={standard,io1,io2,gp2,sc1,st1,gp3}
	// +optional
	VolumeType *string `json:"volumeType,omitempty"`
}

// InterfaceType is the kind of a network interface.
type InterfaceType string

// InterfaceTypeEFAOnly is an interface of the Elastic Fabric Adapter alone, without addresses. The other kind, "interface", has addresses.
const InterfaceTypeEFAOnly InterfaceType = "efa-only"

// NetworkInterface is one network interface.
type NetworkInterface struct {
	// networkCardIndex is the network card, from 0.
	// +kubebuilder:validation:Minimum:=0
	// +required
	NetworkCardIndex int32 `json:"networkCardIndex"`
	// deviceIndex is the place on the card, from 0.
	// +kubebuilder:validation:Minimum:=0
	// +required
	DeviceIndex int32 `json:"deviceIndex"`
	// interfaceType is the kind of interface.
	// +kubebuilder:validation:Enum:={interface,efa-only}
	// +required
	InterfaceType InterfaceType `json:"interfaceType"`
}

// MetadataOptions say how instances reach the instance metadata service.
type MetadataOptions struct {
	// httpEndpoint turns the service on or off.
	// +kubebuilder:default:=enabled
	// +kubebuilder:validation:Enum:={enabled,disabled}
	// +optional
	HTTPEndpoint *string `json:"httpEndpoint,omitempty"`
	// httpProtocolIPv6 turns its IPv6 address on or off.
	// +kubebuilder:default:=disabled
	// +kubebuilder:validation:Enum:={enabled,disabled}
	// +optional
	HTTPProtocolIPv6 *string `json:"httpProtocolIPv6,omitempty"`
	// httpPutResponseHopLimit is how many network hops a token travels. With 1, only the host itself gets one.
	// +kubebuilder:default:=1
	// +kubebuilder:validation:Minimum:=1
	// +kubebuilder:validation:Maximum:=64
	// +optional
	HTTPPutResponseHopLimit *int64 `json:"httpPutResponseHopLimit,omitempty"`
	// httpTokens says whether requests need a token.
	// +kubebuilder:default:=required
	// +kubebuilder:validation:Enum:={required,optional}
	// +optional
	HTTPTokens *string `json:"httpTokens,omitempty"`
}

// ConnectionTracking sets, in seconds, how long idle connections are tracked by security groups.
type ConnectionTracking struct {
	// tcpEstablishedTimeout is for established TCP connections.
	// +kubebuilder:validation:Minimum:=60
	// +kubebuilder:validation:Maximum:=432000
	// +optional
	TCPEstablishedTimeout *int32 `json:"tcpEstablishedTimeout,omitempty"`
	// udpStreamTimeout is for UDP flows with more than one exchange.
	// +kubebuilder:validation:Minimum:=60
	// +kubebuilder:validation:Maximum:=180
	// +optional
	UDPStreamTimeout *int32 `json:"udpStreamTimeout,omitempty"`
	// udpTimeout is for UDP flows in one direction, or with one exchange.
	// +kubebuilder:validation:Minimum:=30
	// +kubebuilder:validation:Maximum:=60
	// +optional
	UDPTimeout *int32 `json:"udpTimeout,omitempty"`
}

// EnclaveOptions are options of AWS Nitro Enclaves.
type EnclaveOptions struct {
	// enabled lets instances run enclaves. Only types that support them are launched then.
	// +required
	Enabled bool `json:"enabled"`
}

// CPUOptions are options of the processor.
type CPUOptions struct {
	// nestedVirtualization lets instances run virtual machines. Only types whose processor can do it are launched then.
	// +kubebuilder:validation:Enum:={enabled,disabled}
	// +optional
	NestedVirtualization *string `json:"nestedVirtualization,omitempty"`
}
