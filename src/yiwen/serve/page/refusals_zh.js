/** @file 服务为什么拒绝，用中文说，按错误代码查找；英文界面显示服务自己的话。 */

/** @type {Record<string, string>} */
export const REFUSALS_ZH = {
  language: "这里没有这个翻译方向，请另选语言。",
  too_long: "上限为 {limit}，请分成几部分。",
  quota: "剩余的额度不够，请等到下个月。",
  glossary: "这个方向要经过另一种语言，不能使用术语表，请先清空术语表。",
  document: "无法翻译这种文件，请选择列出的格式。",
  invalid: "服务给出的原因是“{told}”。",
  documents: "这里不翻译文档，请粘贴文本。",
  no_attention: "导出的模型和经过另一种语言的方向看不到注意力。",
  host: "服务不接受这个网址，请管理员将它加入 allow_hosts。",
  origin: "服务不接受来自这个网址的请求，请管理员将它加入 allow_origins。",
  internal: "原因见服务的日志。",
};

/** 上限以什么计数。 @type {Record<string, string>} */
export const UNITS_ZH = { bytes: "字节", characters: "个字符", texts: "条文本" };
