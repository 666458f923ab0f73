// Texts of the operator's page of callers.
import { dictionary } from './text.js';

export const callersText = dictionary(
  {
    title: 'Callers',
    description: 'Services of your company that call Tollgate over gRPC in their own name, and what each may do.',
    name: 'Name',
    grants: 'Grants',
    accounts: 'Accounts',
    allAccounts: 'all',
    lastSeen: 'Last seen',
    never: 'never',
    certificate: 'Certificate expires',
    otherPki: 'issued by another PKI',
    state: 'State',
    active: 'active',
    revoked: 'revoked',
    none: 'No callers yet',
    add: 'An operator adds a caller with the command line; it issues the certificate, too:',
  },
  {
    title: '调用方',
    description: '贵公司中以自己的身份通过 gRPC 调用 Tollgate 的服务，以及各自的权限。',
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
    none: '还没有调用方',
    add: '运维人员用命令行添加调用方，同时签发证书：',
  },
);
