package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EC2NodeClass holds the settings of EC2 instances that a NodePool's requirements do not speak of: network, image, disks,
// identity and kubelet.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=ec2nodeclasses,scope=Cluster,categories=karpenter,shortName={ec2nc,ec2ncs}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description=""
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
// +kubebuilder:printcolumn:name="Role",type="string",JSONPath=".spec.role",priority=1,description=""
type EC2NodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted of the instances.
	// +kubebuilder:validation:XValidation:message="must specify exactly one of ['role', 'instanceProfile']",rule="has(self.role) != has(self.instanceProfile)"
	// +kubebuilder:validation:XValidation:message="if set, amiFamily must be 'AL2' or 'Custom' when using an AL2 alias",rule="!has(self.amiFamily) || self.amiFamily in ['AL2', 'Custom'] || !self.amiSelectorTerms.exists(t, has(t.alias) && t.alias.startsWith('al2@'))"
	// +kubebuilder:validation:XValidation:message="if set, amiFamily must be 'AL2023' or 'Custom' when using an AL2023 alias",rule="!has(self.amiFamily) || self.amiFamily in ['AL2023', 'Custom'] || !self.amiSelectorTerms.exists(t, has(t.alias) && t.alias.startsWith('al2023@'))"
	// +kubebuilder:validation:XValidation:message="if set, amiFamily must be 'Bottlerocket' or 'Custom' when using a Bottlerocket alias",rule="!has(self.amiFamily) || self.amiFamily in ['Bottlerocket', 'Custom'] || !self.amiSelectorTerms.exists(t, has(t.alias) && t.alias.startsWith('bottlerocket@'))"
	// +kubebuilder:validation:XValidation:message="if set, amiFamily must be 'Windows2019' or 'Custom' when using a Windows2019 alias",rule="!has(self.amiFamily) || self.amiFamily in ['Windows2019', 'Custom'] || !self.amiSelectorTerms.exists(t, has(t.alias) && t.alias.startsWith('windows2019@'))"
	// +kubebuilder:validation:XValidation:message="if set, amiFamily must be 'Windows2022' or 'Custom' when using a Windows2022 alias",rule="!has(self.amiFamily) || self.amiFamily in ['Windows2022', 'Custom'] || !self.amiSelectorTerms.exists(t, has(t.alias) && t.alias.startsWith('windows2022@'))"
	// +kubebuilder:validation:XValidation:message="if set, amiFamily must be 'Windows2025' or 'Custom' when using a Windows2025 alias",rule="!has(self.amiFamily) || self.amiFamily in ['Windows2025', 'Custom'] || !self.amiSelectorTerms.exists(t, has(t.alias) && t.alias.startsWith('windows2025@'))"
	// +kubebuilder:validation:XValidation:message="must specify amiFamily if amiSelectorTerms does not contain an alias",rule="has(self.amiFamily) || self.amiSelectorTerms.exists(t, has(t.alias))"
	// +optional
	Spec EC2NodeClassSpec `json:"spec,omitempty"`
	// status is what the settings were found to mean in the account.
	// +optional
	Status EC2NodeClassStatus `json:"status,omitzero"`
}

// EC2NodeClassList is a list of EC2NodeClasses.
//
// +kubebuilder:object:root=true
type EC2NodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []EC2NodeClass `json:"items"`
}

// EC2NodeClassSpec is what is wanted of EC2 instances.
//
// The names of the hashed fields and of their types, and their order, are part of the static hash; see Hash.
type EC2NodeClassSpec struct {
	// subnetSelectorTerms find the subnets that instances are launched into. A subnet is taken if any term matches it;
	// all conditions of a term have to hold.
	// +kubebuilder:validation:XValidation:message="subnetSelectorTerms cannot be empty",rule="size(self) != 0"
	// +kubebuilder:validation:XValidation:message="expected at least one, got none, ['tags', 'id']",rule="self.all(t, (has(t.tags) && size(t.tags) != 0) || has(t.id))"
	// +kubebuilder:validation:XValidation:message="'id' is mutually exclusive, cannot be set with a combination of other fields in a subnet selector term",rule="size(self) == 0 || !self.all(t, has(t.id) && has(t.tags))"
	// +kubebuilder:validation:MaxItems:=30
	// +listType=atomic
	// +required
	SubnetSelectorTerms []SubnetSelectorTerm `json:"subnetSelectorTerms" hash:"ignore"`
	// securityGroupSelectorTerms find the security groups; every group that any term matches is attached.
	// +kubebuilder:validation:XValidation:message="securityGroupSelectorTerms cannot be empty",rule="size(self) != 0"
	// +kubebuilder:validation:XValidation:message="expected at least one, got none, ['tags', 'id', 'name']",rule="self.all(t, (has(t.tags) && size(t.tags) != 0) || has(t.id) || has(t.name))"
	// +kubebuilder:validation:XValidation:message="'id' is mutually exclusive, cannot be set with a combination of other fields in a security group selector term",rule="size(self) == 0 || !self.all(t, has(t.id) && (has(t.tags) || has(t.name)))"
	// +kubebuilder:validation:XValidation:message="'name' is mutually exclusive, cannot be set with a combination of other fields in a security group selector term",rule="size(self) == 0 || !self.all(t, has(t.name) && (has(t.tags) || has(t.id)))"
	// +kubebuilder:validation:MaxItems:=30
	// +listType=atomic
	// +required
	SecurityGroupSelectorTerms []SecurityGroupSelectorTerm `json:"securityGroupSelectorTerms" hash:"ignore"`
	// capacityReservationSelectorTerms find the capacity reservations that may be used up as reserved capacity.
	// +kubebuilder:validation:XValidation:message="expected at least one, got none, ['tags', 'id', 'instanceMatchCriteria']",rule="self.all(t, (has(t.tags) && size(t.tags) != 0) || has(t.id) || has(t.instanceMatchCriteria))"
	// +kubebuilder:validation:XValidation:message="'id' is mutually exclusive, cannot be set along with other fields in a capacity reservation selector term",rule="size(self) == 0 || !self.all(t, has(t.id) && (has(t.tags) || has(t.ownerID) || has(t.instanceMatchCriteria)))"
	// +kubebuilder:validation:MaxItems:=30
	// +listType=atomic
	// +optional
	CapacityReservationSelectorTerms []CapacityReservationSelectorTerm `json:"capacityReservationSelectorTerms,omitempty" hash:"ignore"`
	// placementGroupSelector names the placement group that instances are launched into.
	// +optional
	PlacementGroupSelector *PlacementGroupSelector `json:"placementGroupSelector,omitempty"`
	// associatePublicIPAddress says whether instances get a public IPv4 address. Absent leaves it to the subnet.
	// +optional
	AssociatePublicIPAddress *bool `json:"associatePublicIPAddress,omitempty"`
	// ipPrefixCount is how many address prefixes each network interface gets: IPv4 prefixes, or IPv6 prefixes where the
	// cluster speaks IPv6.
	// +kubebuilder:validation:Minimum:=0
	// +optional
	IPPrefixCount *int32 `json:"ipPrefixCount,omitempty" hash:"ignore"`
	// amiSelectorTerms find the images; an image is a candidate if any term matches it.
	// +kubebuilder:validation:XValidation:message="expected at least one, got none, ['tags', 'id', 'name', 'alias', 'ssmParameter']",rule="self.all(t, (has(t.tags) && size(t.tags) != 0) || has(t.id) || has(t.name) || has(t.alias) || has(t.ssmParameter))"
	// +kubebuilder:validation:XValidation:message="'id' is mutually exclusive, cannot be set with a combination of other fields in amiSelectorTerms",rule="!self.exists(t, has(t.id) && (has(t.alias) || has(t.tags) || has(t.name) || has(t.owner)))"
	// +kubebuilder:validation:XValidation:message="'alias' is mutually exclusive, cannot be set with a combination of other fields in amiSelectorTerms",rule="!self.exists(t, has(t.alias) && (has(t.id) || has(t.tags) || has(t.name) || has(t.owner)))"
	// +kubebuilder:validation:XValidation:message="'alias' is mutually exclusive, cannot be set with a combination of other amiSelectorTerms",rule="size(self) == 1 || !self.exists(t, has(t.alias))"
	// +kubebuilder:validation:MinItems:=1
	// +kubebuilder:validation:MaxItems:=30
	// +listType=atomic
	// +required
	AMISelectorTerms []AMISelectorTerm `json:"amiSelectorTerms" hash:"ignore"`
	// amiFamily decides the form of the user data and the default disks. Absent means the family of the alias.
	// +kubebuilder:validation:Enum:={AL2,AL2023,Bottlerocket,Custom,Windows2019,Windows2022,Windows2025}
	// +optional
	AMIFamily *string `json:"amiFamily,omitempty" hash:"ignore"`
	// userData is merged with what Karpenter generates, in the way of the family.
	// +optional
	UserData *string `json:"userData,omitempty"`
	// role is the name of the IAM role of the instances. Karpenter keeps an instance profile for it.
	// +kubebuilder:validation:XValidation:message="role cannot be empty",rule="self != ''"
	// +optional
	Role string `json:"role,omitempty"`
	// instanceProfile is the name of an instance profile that already exists; it is used instead of a role.
	// +kubebuilder:validation:XValidation:message="instanceProfile cannot be empty",rule="self != ''"
	// +optional
	InstanceProfile *string `json:"instanceProfile,omitempty"`
	// tags are put on everything that Karpenter makes in EC2 for this class.
	// +kubebuilder:validation:XValidation:message="empty tag keys aren't supported",rule="self.all(k, k != '')"
	// +kubebuilder:validation:XValidation:message="tag contains a restricted tag matching eks:eks-cluster-name",rule="self.all(k, k != 'eks:eks-cluster-name')"
	// +kubebuilder:validation:XValidation:message="tag contains a restricted tag matching kubernetes.io/cluster/",rule="self.all(k, !k.startsWith('kubernetes.io/cluster'))"
	// +kubebuilder:validation:XValidation:message="tag contains a restricted tag matching karpenter.sh/nodepool",rule="self.all(k, k != 'karpenter.sh/nodepool')"
	// +kubebuilder:validation:XValidation:message="tag contains a restricted tag matching karpenter.sh/nodeclaim",rule="self.all(k, k != 'karpenter.sh/nodeclaim')"
	// +kubebuilder:validation:XValidation:message="tag contains a restricted tag matching karpenter.k8s.aws/ec2nodeclass",rule="self.all(k, k != 'karpenter.k8s.aws/ec2nodeclass')"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// kubelet holds fields of the kubelet's configuration, by their names there. Any object is stored; what is wrong with
	// it is told by the condition ValidationSucceeded. It is hashed as text.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type:="object"
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Kubelet map[string]apiextensionsv1.JSON `json:"kubelet,omitempty" hash:"ignore"`
	// blockDeviceMappings are the disks. They replace the defaults of the family altogether.
	// +kubebuilder:validation:XValidation:message="must have only one blockDeviceMappings with rootVolume",rule="self.filter(d, has(d.rootVolume) && d.rootVolume).size() <= 1"
	// +kubebuilder:validation:MaxItems:=50
	// +listType=atomic
	// +optional
	BlockDeviceMappings []*BlockDeviceMapping `json:"blockDeviceMappings,omitempty"`
	// instanceStorePolicy says what becomes of disks that are built into the host. With RAID0 they are joined and hold the
	// files of kubelet and containerd.
	// +kubebuilder:validation:Enum:={RAID0}
	// +optional
	InstanceStorePolicy *InstanceStorePolicy `json:"instanceStorePolicy,omitempty"`
	// networkInterfaces lay out the network interfaces explicitly.
	// +kubebuilder:validation:XValidation:message="networkInterfaces must include a primary interface with interfaceType='interface'",rule="size(self) == 0 || self.exists(i, i.networkCardIndex == 0 && i.deviceIndex == 0 && i.interfaceType == 'interface')"
	// +kubebuilder:validation:XValidation:message="networkInterfaces must not have duplicate networkCardIndex and deviceIndex pairs, and can have at most one efa device per network card",rule="self.all(i, self.exists_one(j, i.networkCardIndex == j.networkCardIndex && i.deviceIndex == j.deviceIndex) && (i.interfaceType != 'efa-only' || self.exists_one(j, i.networkCardIndex == j.networkCardIndex && j.interfaceType == 'efa-only')))"
	// +kubebuilder:validation:MaxItems:=150
	// +listType=atomic
	// +optional
	NetworkInterfaces []*NetworkInterface `json:"networkInterfaces,omitempty"`
	// detailedMonitoring turns on the detailed monitoring of EC2.
	// +optional
	DetailedMonitoring *bool `json:"detailedMonitoring,omitempty"`
	// metadataOptions say how instances reach the instance metadata service.
	// +kubebuilder:default:={httpEndpoint: enabled, httpProtocolIPv6: disabled, httpPutResponseHopLimit: 1, httpTokens: required}
	// +optional
	MetadataOptions *MetadataOptions `json:"metadataOptions,omitempty"`
	// enclaveOptions are options of AWS Nitro Enclaves.
	// +optional
	EnclaveOptions *EnclaveOptions `json:"enclaveOptions,omitempty"`
	// connectionTracking sets how long idle connections are tracked by security groups.
	// +kubebuilder:validation:XValidation:message="at least one of tcpEstablishedTimeout, udpStreamTimeout, or udpTimeout must be set",rule="has(self.tcpEstablishedTimeout) || has(self.udpStreamTimeout) || has(self.udpTimeout)"
	// +optional
	ConnectionTracking *ConnectionTracking `json:"connectionTracking,omitempty"`
	// context is passed to EC2 as it is, as the reserved field Context of a launch.
	// +optional
	Context *string `json:"context,omitempty"`
	// cpuOptions are options of the processor.
	// +optional
	CPUOptions *CPUOptions `json:"cpuOptions,omitempty"`
}
