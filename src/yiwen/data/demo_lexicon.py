"""The lexicon of the demo grammar: people, things, places and verbs, grouped by what may be said of them."""

from __future__ import annotations

from collections.abc import Iterable

from yiwen.data.demo_words import Filler, adjectives, nouns, person, phrase, phrases, verb

PRONOUNS = (
    person("I", "我", obj="me", poss="my", be="am"),
    person("you", "你", poss="your", be="are"),
    person("he", "他", obj="him", poss="his"),
    person("she", "她", obj="her", poss="her"),
    person("we", "我们", obj="us", poss="our", be="are"),
    person("they", "他们", obj="them", poss="their", be="are"),
)
# Transliterations as Xinhua's table of names and common use have them.
_NAMES = (
    "Tom 汤姆,Mary 玛丽,John 约翰,Anna 安娜,Peter 彼得,Lucy 露西,David 大卫,Jack 杰克,Emily 艾米丽,"
    "Alice 爱丽丝,Robert 罗伯特,Susan 苏珊,Michael 迈克尔,Linda 琳达,Henry 亨利,Helen 海伦,Paul 保罗,Kate 凯特,"
    "Sarah 萨拉,Daniel 丹尼尔,Lily 莉莉,George 乔治,Emma 埃玛,Frank 弗兰克,Jane 简,Charles 查尔斯,William 威廉,"
    "Grace 格蕾丝,Diana 黛安娜,Kevin 凯文,Nancy 南希,Simon 西蒙,Julia 朱莉娅,Martin 马丁,Adam 亚当,Laura 劳拉"
)
NAMES = tuple(person(name.name, name.zh[""][0][0]) for name in phrases(_NAMES))
_RELATIVES = (
    "father 爸爸,mother 妈妈,~older_sister 姐姐,~younger_brother 弟弟,wife 妻子,uncle 叔叔,grandmother 奶奶,"
    "grandfather 爷爷"
)
RELATIVES = tuple(
    person(f"my/o {en}", f"我/o {zh}", poss=f"my/o {en}'s")
    for en, zh in (pair.replace("_", " ").rsplit(" ", 1) for pair in _RELATIVES.split(","))
)
OTHERS = tuple(
    person(f"~the {who.name}", who.zh[""][0][0])
    for who in phrases("doctor 医生,teacher 老师,manager 经理,driver 司机,nurse 护士")
)
JOBS = nouns(
    "doctor 医生 位,teacher 老师 位,driver 司机 位,nurse 护士 位,writer 作家 位,lawyer 律师 位,engineer 工程师 位,"
    "singer 歌手 位,cook 厨师 位,artist 画家 位,journalist 记者 位,dentist 牙医 位"
)
PEOPLE = NAMES + PRONOUNS * 3 + RELATIVES * 2 + OTHERS
THIRD_PERSONS = NAMES + RELATIVES + OTHERS

BOOKS = nouns("book 书 本,dictionary 词典 本,magazine 杂志 本,novel 小说 本,newspaper 报纸 份")
FRUIT = nouns(
    "apple 苹果 个,banana 香蕉 个,orange 橙子 个,pear 梨 个,lemon 柠檬 个,tomato 西红柿 个,potato 土豆 个,egg 鸡蛋 个,"
    "watermelon 西瓜 个"
)
CLOTHES = nouns(
    "shirt 衬衫 件,coat 大衣 件,sweater 毛衣 件,skirt 裙子 条,scarf 围巾 条 scarves,towel 毛巾 条,hat 帽子 顶,"
    "pair/m_of/m_shoes 鞋 双/m pairs/m_of/m_shoes,pair/m_of/m_gloves 手套 双/m pairs/m_of/m_gloves,"
    "pair/m_of/m_socks 袜子 双/m pairs/m_of/m_socks"
)
DEVICES = nouns("phone 手机 部,camera 照相机 台,computer 电脑 台,radio 收音机 台 radios,watch 手表 块")
SMALL_THINGS = nouns(
    "pen 钢笔 支,pencil 铅笔 支,map 地图 张,umbrella 雨伞 把,key 钥匙 把,knife 刀 把 knives,bag 包 个,cup 杯子 个,"
    "box 盒子 个,toy 玩具 个,lamp 台灯 盏,ticket 票 张,photo 照片 张 photos,letter 信 封"
)
FURNITURE = nouns("table 桌子 张,bed 床 张,sofa 沙发 张,chair 椅子 把")
VEHICLES = nouns("car 汽车 辆,bike 自行车 辆")
ANIMALS = nouns(
    "dog 狗 只,cat 猫 只,bird 鸟 只,rabbit 兔子 只,sheep 羊 只 sheep,mouse 老鼠 只 mice,fish 鱼 条 fish,snake 蛇 条,"
    "horse 马 匹,cow 牛 头,pig 猪 头"
)
DRINKS_BY_CUP = nouns(
    "cup/m_of/m_tea 茶 杯/m,cup/m_of/m_coffee 咖啡 杯/m,cup/m_of/m_milk 牛奶 杯/m,cup/m_of/m_water 水 杯/m,"
    "bottle/m_of/m_water 水 瓶/m,bottle/m_of/m_milk 牛奶 瓶/m,bottle/m_of/m_beer 啤酒 瓶/m,"
    "bottle/m_of/m_juice 果汁 瓶/m,bottle/m_of/m_wine 葡萄酒 瓶/m"
)
FOOD_BY_BOWL = nouns("bowl/m_of/m_rice 米饭 碗/m,bowl/m_of/m_noodles 面条 碗/m,bowl/m_of/m_soup 汤 碗/m")
GROWN = nouns("man 男人 个 men,woman 女人 个 women,child 孩子 个 children,student 学生 个,guest 客人 位")
PLANTS = nouns("flower 花 朵,tree 树 棵")

DRINKS = phrases("tea 茶,coffee 咖啡,milk 牛奶,water 水,beer 啤酒,juice 果汁,wine 葡萄酒")
DISHES = phrases("rice 米饭,noodles 面条,dumplings 饺子,beef 牛肉,chicken 鸡肉,fish 鱼,vegetables 蔬菜,eggs 鸡蛋")
FRUITS = phrases("apples 苹果,bananas 香蕉,oranges 橙子,pears 梨,tomatoes 西红柿,grapes 葡萄,watermelons 西瓜")
READING = phrases("books 书,newspapers 报纸,magazines 杂志,novels 小说,letters 信,stories 故事,poems 诗")
LANGUAGES = phrases(
    "Chinese 中文,English 英语,French 法语,German 德语,Japanese 日语,Spanish 西班牙语,Russian 俄语,Italian 意大利语"
)
BALL_GAMES = phrases("basketball 篮球,tennis 网球,table_tennis 乒乓球,volleyball 排球,badminton 羽毛球")
INSTRUMENTS = phrases("~the_piano 钢琴,~the_guitar 吉他,~the_violin 小提琴")
MEDIA = phrases("films 电影,television 电视,football_matches 足球比赛,cartoons 动画片")
MUSIC = phrases("music 音乐,songs 歌,~the_radio 广播")

# Verbs with what they are said of in general (I drink tea, 我喝茶): the two are chosen together.
VERBS_AND_OBJECTS: tuple[tuple[Filler, Iterable[Filler]], ...] = (
    (verb("drink", "喝", past="drank"), DRINKS),
    (verb("eat", "吃", past="ate"), DISHES + FRUITS),
    (verb("buy", "买", past="bought"), DRINKS + DISHES + FRUITS + READING[:4]),
    (verb("sell", "卖", past="sold"), DRINKS + DISHES + FRUITS + READING[:4]),
    (verb("cook", "做"), DISHES),
    (verb("read", "看", past="read"), READING),
    (verb("write", "写", past="wrote"), READING[3:]),
    (verb("learn", "学"), LANGUAGES + INSTRUMENTS),
    (verb("teach", "教", past="taught"), LANGUAGES + INSTRUMENTS),
    (verb("speak", "说", past="spoke"), LANGUAGES),
    (verb("play", "打"), BALL_GAMES),
    (verb("play", "踢"), phrases("football 足球")),
    (verb("play", "弹"), INSTRUMENTS[:2]),
    (verb("watch", "看"), MEDIA),
    (verb("listen to", "听"), MUSIC),
)
_IN_ROOMS = ("drink", "eat", "read", "write", "learn", "watch", "listen to")
VERBS_IN_ROOMS = tuple((act, objects) for act, objects in VERBS_AND_OBJECTS if act.name in _IN_ROOMS)
LIKED = DRINKS + DISHES + FRUITS + READING[:4] + LANGUAGES + BALL_GAMES + MEDIA[:1] + MUSIC[:1]

# Verbs with things that are counted (she bought two books, 她买了两本书).
_PORTABLE = BOOKS + CLOTHES + DEVICES + SMALL_THINGS
VERBS_AND_THINGS: tuple[tuple[Filler, Iterable[Filler]], ...] = (
    (verb("buy", "买", past="bought"), _PORTABLE + FRUIT + FURNITURE + VEHICLES + DRINKS_BY_CUP + ANIMALS),
    (verb("sell", "卖", past="sold"), _PORTABLE + FRUIT + FURNITURE + VEHICLES + ANIMALS),
    (verb("lose", "丢", past="lost"), _PORTABLE),
    (verb("borrow", "借"), BOOKS + DEVICES + SMALL_THINGS[:4] + VEHICLES + FURNITURE[3:]),
    (verb("see", "看到", past="saw", ing="seeing"), ANIMALS + VEHICLES + GROWN[:3] + PLANTS),
    (verb("find", "找到", past="found"), _PORTABLE + ANIMALS),
    (verb("repair", "修好"), DEVICES + VEHICLES + FURNITURE),
    (verb("drink", "喝", past="drank"), DRINKS_BY_CUP),
    (verb("eat", "吃", past="ate"), FRUIT + FOOD_BY_BOWL[:2]),
    (verb("order", "点"), DRINKS_BY_CUP + FOOD_BY_BOWL),
    (verb("draw", "画", past="drew"), ANIMALS + PLANTS + FRUIT + VEHICLES),
)
GIFTS = BOOKS + CLOTHES + DEVICES + SMALL_THINGS + FRUIT
GOODS = BOOKS + CLOTHES[:7] + DEVICES + SMALL_THINGS[:11] + FURNITURE + VEHICLES
OWNED = GOODS + ANIMALS
_DRY_GOODS = SMALL_THINGS[:11]
SHOPS_AND_GOODS: tuple[tuple[Filler, Iterable[Filler]], ...] = tuple(
    zip(
        phrases("bookshop 书店,market 市场,supermarket 超市,department_store 百货商店,airport 机场,station 车站"),
        (BOOKS, CLOTHES + FRUIT + _DRY_GOODS, FRUIT + DRINKS_BY_CUP[4:] + _DRY_GOODS, CLOTHES + DEVICES + _DRY_GOODS,
         BOOKS + CLOTHES + DEVICES, BOOKS + FRUIT + DRINKS_BY_CUP),
        strict=True,
    )
)  # fmt: skip

CITIES = phrases(
    "Beijing 北京,Shanghai 上海,London 伦敦,Paris 巴黎,Tokyo 东京,Berlin 柏林,Moscow 莫斯科,Rome 罗马,Sydney 悉尼,"
    "Madrid 马德里,Hong_Kong 香港,New_York 纽约,Nanjing 南京,Guangzhou 广州"
)
PLACES = phrases(
    "park 公园,library 图书馆,museum 博物馆,cinema 电影院,hospital 医院,airport 机场,station 车站,supermarket 超市,"
    "bank 银行,post_office 邮局,restaurant 餐厅,hotel 酒店,school 学校,bookshop 书店,zoo 动物园,beach 海边"
)
ROOMS = phrases(
    "in/p_~the_kitchen 在/p_厨房_里/p,in/p_~the_garden 在/p_花园_里/p,in/p_~the_classroom 在/p_教室_里/p,"
    "in/p_~the_living_room 在/p_客厅_里/p,in/p_~the_office 在/p_办公室_里/p,in/p_~the_library 在/p_图书馆_里/p,"
    "at/p_home 在/p_家_里/p,at/p_school 在/p_学校,on/p_~the_train 在/p_火车_上/p"
)
_SPOTS = "table 桌子,bed 床,chair 椅子,sofa 沙发,desk 书桌,basket 篮子,car 汽车,door 门,window 窗户,tree 树"
SPOTS = tuple(
    phrase(f"{en}/p ~the {thing.name}", f"{thing.zh[''][0][0]} {where}/p")
    for en, where, things in (
        ("on", "上", phrases(_SPOTS)[:5]), ("under", "下面", phrases(_SPOTS)[:7] + phrases(_SPOTS)[9:]),
        ("in", "里", phrases("basket 篮子,car 汽车,suitcase 行李箱,room 房间,drawer 抽屉,cupboard 柜子")),
        ("behind", "后面", phrases(_SPOTS)[2:]), ("next/p to", "旁边", phrases(_SPOTS)),
    )
    for thing in things
)  # fmt: skip

ADJECTIVES_OF_PEOPLE = adjectives(
    "tall taller 高,short shorter 矮,young younger 年轻,busy busier 忙,strong stronger 强壮,clever cleverer 聪明"
)
ADJECTIVES_OF_CITIES = adjectives(
    "big bigger 大,cold colder 冷,hot hotter 热,clean cleaner 干净,beautiful ~more_beautiful 漂亮,"
    "quiet quieter 安静,safe safer 安全"
)
ADJECTIVES_OF_THINGS = adjectives(
    "cheap cheaper 便宜,expensive ~more_expensive 贵,big bigger 大,small smaller 小,"
    "heavy heavier 重,light lighter 轻,new newer 新,good better 好"
)
