// Texts of the operator's page of callers.
import { dictionary } from './text.js';

export const callersText = dictionary(
  {
    title: 'Callers',
    description: 'Internal services that call Tollgate over gRPC, and their grants.',
    name: 'Name',
    grants: 'Grants',
    accounts: 'Accounts',
    allAccounts: 'All',
    lastSeen: 'Last seen',
    never: 'Never',
    certificate: 'Certificate expires',
    otherPki: 'Issued by another PKI',
    state: 'State',
    active: 'Active',
    revoked: 'Revoked',
    none: 'No callers yet',
    add: 'Add a caller with the command line, which also issues its certificate:',
  },
  {
    title: '调用方',
    description: '通过 gRPC 调用 Tollgate 的内部服务及其权限。',
    name: '名称',
    grants: '权限',
    accounts: '账户',
    allAccounts: '全部',
    lastSeen: '最近调用',
    never: '从未',
    certificate: '证书到期',
    otherPki: '由其他 PKI 签发',
    state: '状态',
    active: '有效',
    revoked: '已吊销',
    none: '暂无调用方',
    add: '用命令行添加调用方，同时签发证书：',
  },
);
